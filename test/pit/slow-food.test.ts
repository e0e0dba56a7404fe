import { closeSync, openSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, Pit } from "./support.ts";

/** Food that is still being written when it is found. */

const HEAD = "# food-0001-slow\n- **task:** chew\n";
const REST = "- **done-when:** `test -e scraps/ok`\n- **max-attempts:** 1\n";

// Known: a write renews the claim's change time, which is its token: the worker takes it for lost.
test("the rest comes after it was claimed: its done-when counts, and the result is not done", async () => {
  const pit = await Pit.make();
  const fd = openSync(pit.path("food/food-0001-slow.md"), "w");
  writeSync(fd, HEAD);
  const handler = pit.script(
    "h.sh",
    'echo begun >> "$H/begun"; while [ ! -e "$H/go" ]; do :; done; cat "$VIV_FOOD" > "$H/food"',
  );
  const worker = pit.work(handler, "--max-tasks", "1");
  await until("it is claimed", () => pit.lines("begun").length === 1);
  writeSync(fd, REST);
  closeSync(fd);
  pit.script("go", "");
  expect(await ended(worker)).toBe(0);
  expect(pit.lines("food").join("\n")).toContain("done-when");
  expect(pit.names("done")).toEqual([]);
  expect(await pit.stateOf("food-0001-slow")).toBe("failed");
  expect(await pit.json("show", "food-0001-slow")).toMatchObject({
    history: [{ outcome: "unproven" }],
  });
});

test("the rest comes while it waits: what is claimed is the whole", async () => {
  const pit = await Pit.make();
  const fd = openSync(pit.path("food/food-0001-slow.md"), "w");
  writeSync(fd, HEAD);
  await pit.sweep(); // offered as it is
  writeSync(fd, "- **done-when:** `test -e scraps/ok`\n");
  closeSync(fd);
  const claim = JSON.parse(await pit.ok("claim", "--worker", "s", "--json")) as {
    done_when?: string;
  };
  expect(claim.done_when).toBe("test -e scraps/ok");
});

test("half a file without a task is waited for", async () => {
  const pit = await Pit.make();
  const fd = openSync(pit.path("food/food-0001-slow.md"), "w");
  writeSync(fd, "# food-0001-slow\n- **tossed-by:** me\n");
  expect(await pit.sweep()).toMatchObject({ adopted: 0 });
  writeSync(fd, "- **task:** chew\n");
  closeSync(fd);
  expect(await ended(pit.work(pit.script("h.sh", ":"), "--max-tasks", "1"))).toBe(0);
  expect(pit.has("done/food-0001-slow.md")).toBe(true);
});
