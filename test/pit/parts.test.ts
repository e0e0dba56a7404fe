import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { ended, Pit } from "./support.ts";

/** Food that is cut up: the pieces say by whom and of what, the result says into which. */

test("a handler tosses pieces with viv: they name the snake and the whole, the result names them", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("too much at once");
  const handler = pit.script(
    "planner.sh",
    'viv pit toss "first half" >/dev/null; viv pit toss "second half" --done-when true >/dev/null; echo cut > "$VIV_RESULT"',
  );
  const worker = pit.work(handler, "--worker-id", "snake-1", "--max-tasks", "1");
  expect(await ended(worker)).toBe(0);
  for (const part of ["food-0002-first-half", "food-0003-second-half"]) {
    const text = pit.read(`food/${part}.md`);
    expect(text).toContain("- **tossed-by:** snake-1\n");
    expect(text).toContain(`- **part-of:** ${id}\n`);
    expect(pit.read(`done/${id}.result.md`)).toContain(part);
  }
  const { families } = await pit.json<{ families: { id: string; children: { id: string }[] }[] }>(
    "tree",
  );
  expect(families.find((one) => one.id === id)?.children.map((one) => one.id)).toEqual([
    "food-0002-first-half",
    "food-0003-second-half",
  ]);
});

test("pieces by hand, with the number of another pit's food in the environment or not", async () => {
  const pit = await Pit.make();
  const other = await Pit.make();
  const id = await pit.toss("whole");
  // A snake of another pit tosses here: its own food is not the whole of ours.
  const handler = other.script("h.sh", `viv pit toss ${pit.dir} "from afar" >/dev/null`);
  await other.toss("x");
  expect(await ended(other.work(handler, "--max-tasks", "1"))).toBe(0);
  expect(pit.read("food/food-0002-from-afar.md")).not.toContain("part-of");

  pit.food("food-0003-by-hand", `- task: piece\n- tossed-by: snake-9\n- part-of: ${id}\n`);
  await pit.sweep();
  expect(await pit.json("show", "food-0003-by-hand")).toMatchObject({
    task: { created_by: "snake-9", parent: id },
  });
  await pit.ok("claim", "--worker", "s");
  await pit.ok("complete", id, "--worker", "s");
  expect(pit.read(`done/${id}.result.md`)).toContain("food-0003-by-hand");
});

test("pieces that a snake writes and no worker has seen before the whole is done", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("whole");
  await pit.ok("claim", "--worker", "s");
  pit.food("food-0002-piece", `- task: piece\n- tossed-by: s\n- part-of: ${id}\n`);
  await pit.ok("complete", id, "--worker", "s");
  expect(pit.read(`done/${id}.result.md`)).toContain("food-0002-piece");
});

test("which pieces there are survives rm -rf .viv", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("whole");
  const part = await pit.toss("piece", "--part-of", id);
  rmSync(pit.path(".viv"), { recursive: true });
  await pit.ok("doctor", "--fix");
  await pit.ok("claim", "--worker", "s");
  await pit.ok("complete", id, "--worker", "s");
  expect(pit.read(`done/${id}.result.md`)).toContain(part);
});

test.each(["../../evil", "a/b", ".hidden", "", "x".repeat(300)])(
  "part-of: %j leads nowhere",
  async (parent) => {
    const pit = await Pit.make();
    pit.food("food-0001-a", `- task: x\n- part-of: ${parent}\n- after: ../../../etc/passwd\n`);
    pit.food("food-0002-b");
    await pit.sweep();
    expect(await pit.stateOf("food-0002-b")).toBe("pending");
    expect(pit.has("evil") || pit.has(".viv/evil")).toBe(false);
    const found = pit.has("food/food-0001-a.md") || pit.has("record/quarantine/food-0001-a.md");
    expect(found).toBe(true);
  },
);
