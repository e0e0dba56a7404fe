import { describe, expect, test } from "vitest";
import { FakeWarden, SETTINGS } from "../../test/support/warden-host.ts";

/** A breaker of one execution, and two targets that are silent: the second is held. */
async function held(fake: FakeWarden): Promise<void> {
  fake.settings = { ...SETTINGS, breaker: { executions: 1, withinMs: 600_000 } };
  for (const name of ["a", "b"]) {
    fake.target(name);
    fake.file(name);
  }
  await fake.up();
  await fake.pass(425_000);
}

describe("an execution that the breaker holds", () => {
  test("is announced to its requester once, with the command that goes on", async () => {
    const fake = new FakeWarden();
    await held(fake);
    const since = fake.files.paused()?.since;
    expect(fake.notices).toMatchObject([
      { event: "held", by: "breaker", since, warrant: { target: "b", requester: "deacon" } },
    ]);
    expect(fake.notices[0]?.todo).toBe(`viv warden resume --state-dir ${fake.folder}`);
    expect(fake.emitted("holds")).toHaveLength(1);
    expect(fake.emitted("paused")).toMatchObject([{ why: expect.stringContaining("resume") }]);
    expect(fake.files.dances()[0]?.held).toMatchObject({ since, told_at: expect.any(String) });
    await fake.pass(3_600_000);
    expect(fake.notices).toHaveLength(1);
  });

  test("is not announced again after a restart, but is still in the log", async () => {
    const fake = new FakeWarden();
    await held(fake);
    fake.die();
    await fake.back();
    await fake.pass(60_000);
    expect(fake.notices).toHaveLength(1);
    expect(fake.emitted("holds")).toHaveLength(2);
    expect(fake.emitted("paused")).toHaveLength(2);
  });

  test("is announced again when the warden was killed before the notification", async () => {
    const fake = new FakeWarden();
    fake.hook = new Promise(() => {});
    await held(fake);
    expect(fake.files.paused()).toMatchObject({ by: "breaker" });
    expect(fake.notices).toEqual([]);
    fake.die();
    fake.hook = Promise.resolve();
    await fake.back();
    await fake.pass(60_000);
    expect(fake.notices).toMatchObject([{ warrant: { target: "b" } }]);
  });

  test("is announced anew at the next pause", async () => {
    const fake = new FakeWarden();
    await held(fake);
    fake.files.resume(fake.world.clock.now());
    fake.files.pause({ since: "2026-01-07T20:15:00Z", by: "kim", why: "a look first" });
    await fake.pass(60_000);
    expect(fake.notices.map(({ by }) => by)).toEqual(["breaker", "kim"]);
  });

  test("leaves nothing behind when the dance ends while it is announced", async () => {
    const fake = new FakeWarden();
    let release = () => {};
    fake.hook = new Promise((resolve) => {
      release = resolve;
    });
    await held(fake);
    fake.files.askToRelease(fake.files.dances()[0]?.id ?? "");
    await fake.pass(10_000);
    release();
    await fake.pass(10_000);
    expect(fake.notices).toHaveLength(1);
    expect(fake.files.dances()).toEqual([]);
    expect(fake.files.queued().warrants.map(({ target }) => target)).toEqual(["b"]);
  });
});

describe("while a requester is notified", () => {
  test("its dog has the next warrant", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, pool: 1 };
    fake.hook = new Promise(() => {});
    fake.target("a", { answers: { attempt: 1, afterMs: 5_000 } });
    fake.target("b");
    fake.file("a");
    fake.world.advance(10);
    fake.file("b");
    await fake.up();
    expect(fake.emitted("queued")).toMatchObject([{ warrant: "w-b", why: "pool exhausted" }]);
    await fake.pass(10_000);
    expect(fake.told).toEqual([]);
    expect(fake.verdict("a")).toBe("pardoned");
    expect(fake.files.dances().map(({ warrant }) => warrant.target)).toEqual(["b"]);
    expect(fake.emitted("queued")).toHaveLength(1);
  });

  test("a warden that is killed tells it at its next start, and only then", async () => {
    const fake = new FakeWarden();
    fake.hook = new Promise(() => {});
    fake.target("a", { diesAfterMs: 1_000 });
    fake.file("a");
    await fake.up();
    await fake.pass(60_000);
    expect(fake.files.receipts()[0]).toMatchObject({ verdict: "already_dead", told: [] });
    fake.die();
    fake.hook = Promise.resolve();
    await fake.back();
    await fake.pass(1_000);
    expect(fake.told).toHaveLength(1);
    expect(fake.files.receipts()[0]?.told).toEqual([{ by: "inbox", trouble: null }]);
    expect(fake.files.untold()).toEqual([]);
    fake.die();
    await fake.back();
    await fake.pass(1_000);
    expect(fake.told).toHaveLength(1);
  });

  test("at most five hooks run at a time", async () => {
    const fake = new FakeWarden();
    let calls = 0;
    const wait = new Promise<void>(() => {});
    Object.defineProperty(fake, "hook", {
      get: () => {
        calls++;
        return wait;
      },
    });
    for (let i = 0; i < 12; i++) fake.file(`never-was-${i}`);
    await fake.up();
    await fake.pass(60_000);
    expect(fake.files.receipts()).toHaveLength(12);
    expect([calls, fake.files.untold().length]).toEqual([5, 12]);
  });
});
