import { expect, test } from "vitest";
import { FakeWarden, SETTINGS } from "../../test/support/warden-host.ts";

/** Its first two looks after the decision to execute it fail. */
async function failsBeforeTheSignal() {
  const fake = new FakeWarden();
  let failures = 0;
  const toast = fake.target("toast", {
    onLook: () => {
      if (fake.files.dances()[0]?.state !== "executing" || ++failures > 2) return;
      throw new Error("too many open files");
    },
  });
  fake.file("toast");
  await fake.up();
  await fake.pass(420_000);
  expect(fake.emitted("trouble")).toMatchObject([{ what: expect.stringContaining("open files") }]);
  return { fake, toast };
}

test("an error between the decision and the first signal is no signal", async () => {
  const { fake, toast } = await failsBeforeTheSignal();
  toast.isGone = true;
  await fake.pass(60_000);
  expect(toast.signalled).toEqual([]);
  expect(fake.files.receipts()).toMatchObject([
    { verdict: "already_dead", why: "it ended by itself before it was signalled" },
  ]);
});

test("after an error before the first signal it looks again, then executes", async () => {
  const { fake, toast } = await failsBeforeTheSignal();
  await fake.pass(60_000);
  expect(fake.emitted("trouble")).toHaveLength(2);
  expect(toast.signalled).toHaveLength(1);
  expect(fake.verdict("toast")).toBe("executed");
});

test("after an error before the first signal, a paused pool executes nothing until it is resumed", async () => {
  const { fake, toast } = await failsBeforeTheSignal();
  const now = () => fake.world.clock.now();
  fake.files.pause({ since: new Date(now()).toISOString(), by: "pia", why: "a mistake" });
  await fake.pass(600_000);
  expect(toast.signalled).toEqual([]);
  expect(fake.files.receipts()).toEqual([]);
  fake.files.resume(now());
  await fake.pass(60_000);
  expect(toast.signalled).toHaveLength(1);
  expect(fake.verdict("toast")).toBe("executed");
});

test("the stream reports a withdrawn warrant once, in a dance and in the queue", async () => {
  const fake = new FakeWarden();
  fake.settings = { ...SETTINGS, pool: 1 };
  for (const name of ["toast", "waits"]) {
    fake.target(name);
    fake.file(name);
    fake.world.advance(10);
  }
  await fake.up();
  expect(await fake.files.withdrawQueued("w-waits")).toBe(true);
  await fake.pass(10_000);
  await fake.files.askToWithdraw("w-toast");
  await fake.pass(10_000);
  expect(fake.emitted("withdrawn")).toEqual([
    { kind: "withdrawn", warrant: "w-waits", target: "waits" },
    { kind: "withdrawn", warrant: "w-toast", target: "toast" },
  ]);
});
