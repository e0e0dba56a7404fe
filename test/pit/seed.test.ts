import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Pit } from "./support.ts";

/** The snake pit's own page: its folders, its food and its commands, as they stand. */

const ID = "food-0007-reverse-string";
const FOOD = `# ${ID}
- **task:** Implement a \`reverse(s)\` function in scraps/reverse.py and a test that proves it.
- **done-when:** \`python -m pytest scraps/test_reverse.py -q\` is green.
- **tossed-by:** keeper        # or another snake, if this is a regurgitated sub-task
`;

/** Made with mkdir, as there was no viv. */
function seedPit(): Pit {
  const pit = new Pit();
  for (const folder of ["food", "claimed", "done", "scraps", "waste"]) {
    mkdirSync(pit.path(folder), { recursive: true });
  }
  pit.write(`food/${ID}.md`, FOOD, 60);
  return pit;
}

/** In the folder above the pit, as the page writes its paths. */
function sh(pit: Pit, script: string): number | null {
  return spawnSync("/bin/sh", ["-ec", script], { cwd: pit.home }).status;
}

/** A python that passes the seed's test once the function is there. */
function withPython(pit: Pit): Record<string, string> {
  const bin = join(pit.home, "bin");
  mkdirSync(bin);
  const text = `#!/bin/sh\necho "$*" >> "${pit.home}/proofs"\ntest -e scraps/reverse.py\n`;
  writeFileSync(join(bin, "python"), text);
  chmodSync(join(bin, "python"), 0o755);
  return { PATH: `${bin}:${process.env.PATH}` };
}

test("its food is read as it stands", async () => {
  const pit = seedPit();
  expect(await pit.json("show", ID)).toMatchObject({
    state: "pending",
    task: {
      payload: { task: expect.stringContaining("Implement a `reverse(s)` function") },
      done_when: "python -m pytest scraps/test_reverse.py -q",
      created_by: "keeper",
    },
  });
});

test("its eating protocol: devour, digest, regurgitate whole, excrete", async () => {
  const pit = seedPit();
  const env = withPython(pit);
  const devour = `mv pit/food/${ID}.md pit/claimed/snake-2.${ID}.md`;
  expect(sh(pit, devour)).toBe(0);
  expect(sh(pit, devour), "another snake was faster").not.toBe(0);
  expect(await pit.json("pit", "status")).toMatchObject({
    digesting: [{ food: ID, snake: "snake-2", alive: true }],
  });
  await pit.cli(["pit", "sweep"], { env });
  sh(pit, "echo 'def reverse(s): return s[::-1]' > pit/scraps/reverse.py");
  sh(pit, `echo reversed > pit/done/${ID}.result.md; touch -d '1 minute ago' pit/done/*.result.md`);
  expect(sh(pit, `rm pit/claimed/snake-2.${ID}.md`)).toBe(0);
  expect(sh(pit, "echo 'it went well' > pit/waste/snake-2-1781459442.log")).toBe(0);
  const { stdout } = await pit.cli(["pit", "sweep", "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject({
    proven: [ID],
    results: [{ food: ID, snake: "snake-2", how: "proven" }],
    logs: 1,
  });
  expect(pit.lines("proofs")).toEqual(["-m pytest scraps/test_reverse.py -q"]);
  expect(pit.read(`done/${ID}.result.md`)).toBe("reversed\n");
  expect(pit.read("waste/SUMMARY.md")).toContain("snake-2");
});

test("in parts: new food by hand, for any snake", async () => {
  const pit = seedPit();
  sh(pit, `mv pit/food/${ID}.md pit/claimed/planner.${ID}.md`);
  for (const n of [8, 9]) {
    pit.food(
      `food-000${n}-part`,
      `# food-000${n}-part\n- **task:** part ${n}\n- **tossed-by:** snake-2\n`,
    );
  }
  pit.result(ID, "cut into food-0008-part and food-0009-part\n");
  sh(pit, `rm pit/claimed/planner.${ID}.md`);
  await pit.sweep();
  expect(await pit.json("ls")).toMatchObject({ counts: { pending: 2, done: 1 } });
  expect(await pit.json("claim", "--worker", "snake-3")).toMatchObject({ created_by: "snake-2" });
});

test("a choke: back to food/ with a note, or left in claimed/ past the time-out", async () => {
  const pit = seedPit();
  sh(pit, `mv pit/food/${ID}.md pit/claimed/snake-2.${ID}.md`);
  await pit.sweep();
  expect(pit.names("claimed")).toEqual([`snake-2.${ID}.md`]);
  sh(pit, `echo 'no python here' > pit/scraps/choke-${ID}-snake-2.md`);
  await pit.sweep("--stale-after", "0s");
  expect(pit.names("claimed")).toEqual([]);
  await pit.sweep();
  expect(await pit.json("why", ID)).toMatchObject({
    reasons: [{ code: "choked", text: expect.stringContaining("no python here") }, {}],
  });
  expect(pit.names("food")).toEqual([`${ID}.md`, `keeper-${ID}.md`]);
});

test("scraps/ takes anything, and nothing of it is taken for food", async () => {
  const pit = seedPit();
  for (const name of ["notes.txt", "food-0099-not-food.md", "choke-of-nothing.md", "choke-.md"]) {
    pit.write(`scraps/${name}`, "- task: none\n", 60);
  }
  await pit.sweep();
  expect(await pit.json("ls")).toMatchObject({ counts: { pending: 1, quarantined: 0 } });
  expect(pit.names("scraps")).toHaveLength(4);
});
