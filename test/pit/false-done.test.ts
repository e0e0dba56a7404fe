import { mkdirSync, renameSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, Pit } from "./support.ts";

/** What must never count as done, and food that must not get lost on the way. */

test("a result of before our time proves no new food: its number is taken", async () => {
  const pit = new Pit();
  for (const folder of ["food", "claimed", "done", "scraps", "waste"]) {
    mkdirSync(pit.path(folder), { recursive: true });
  }
  pit.result("food-0001-fix-login", "long ago\n");
  expect(await pit.toss("Fix login")).toBe("food-0002-fix-login");
  expect(await pit.sweep()).toMatchObject({ proven: [], unproven: [] });
  expect(pit.names("food")).toEqual(["food-0002-fix-login.md"]);
});

test("a result of before its food was made is about another one", async () => {
  const pit = await Pit.make();
  pit.result("food-0007-x", "of another\n");
  const written = Date.now();
  await until("the file system's clock has moved on", () => Date.now() > written + 100);
  await pit.ok("enqueue", "--type", "food", "--id", "food-0007-x");
  expect(await pit.sweep()).toMatchObject({ proven: [], unproven: [] });
  expect(await pit.stateOf("food-0007-x")).toBe("pending");
});

test("an attempt that is not proven leaves no result that looks like one", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("x", "--done-when", "test -e scraps/ok");
  const lies = pit.script(
    "h.sh",
    `if [ "$VIV_ATTEMPT" = 1 ]; then echo LIE > done/${id}.result.md
     else touch scraps/ok; echo truth > "$VIV_RESULT"; fi`,
  );
  expect(await ended(pit.work(lies, "--drain"))).toBe(0);
  expect(pit.read(`done/${id}.unproven-1.md`)).toBe("LIE\n");
  expect(pit.read(`done/${id}.result.md`)).toContain("truth");
  expect(pit.read(`done/${id}.result.md`)).toContain("exit 0");
});

test("nor when there is no other attempt", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("x", "--done-when", "false", "--max-attempts", "1");
  const lies = pit.script("h.sh", `echo LIE > done/${id}.result.md`);
  expect(await ended(pit.work(lies, "--drain"))).toBe(1);
  expect(await pit.stateOf(id)).toBe("failed");
  expect(pit.names("done")).toEqual([`${id}.unproven-1.md`]);
});

test("a handler that removes its food without a result: the food comes back", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("x", "--done-when", "true");
  const once = pit.script("h.sh", '[ -e "$H/seen" ] || { touch "$H/seen"; rm "$VIV_FOOD"; }');
  const worker = pit.work(once);
  await until("it is done after all", () => pit.has(`done/${id}.md`), 60_000);
  worker.kill("SIGTERM");
  expect(await ended(worker)).toBe(0);
}, 90_000);

test("food moved to claimed/ without a worker's name counts as claimed", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("x");
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/${id}.md`));
  await pit.sweep();
  expect(pit.names("claimed")).toEqual([`nobody.${id}.md`]);
  const { digesting } = await pit.json<{ digesting: { snake: string; food: string }[] }>(
    ...["pit", "status"],
  );
  expect(digesting).toMatchObject([{ snake: "nobody", food: id }]);
  expect(await pit.sweep("--stale-after", "0")).toMatchObject({ reclaimed: [{ food: id }] });
  expect(pit.names("food")).toEqual([`${id}.md`]);
});

test("food that kills its worker goes behind the others", async () => {
  const pit = await Pit.make();
  const poison = await pit.toss("poison", "--done-when", "kill -9 $PPID");
  const innocent = await pit.toss("innocent", "--done-when", "true");
  await ended(pit.work("/bin/true", "--once"));
  await until("its food is back", async () => {
    await pit.ok("reap");
    return pit.has(`food/${poison}.md`);
  });
  expect(await ended(pit.work("/bin/true", "--once"))).toBe(0);
  expect(pit.has(`done/${innocent}.md`)).toBe(true);
});

test("half a food is not eaten: its done-when may still come", async () => {
  const pit = await Pit.make();
  const worker = pit.work("/bin/true");
  const slow = pit.start([
    "/bin/sh",
    "-c",
    "{ echo '- **task:** a'; sleep 0.4; echo '- **done-when:** `false`'; } > food/food-0010-slow.md",
  ]);
  expect(await ended(slow)).toBe(0);
  await until("it was tried", () => pit.ledger().some(({ outcome }) => outcome === "unproven"));
  expect(pit.names("done")).toEqual([]);
  worker.kill("SIGTERM");
  await ended(worker);
});
