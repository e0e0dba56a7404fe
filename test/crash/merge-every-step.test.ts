import childProcess from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import type { MergeSettings } from "../../src/merge/config.ts";
import { mergeOnce } from "../../src/merge/queue.ts";
import { Dead, Faults } from "../support/faults.ts";
import { newFolder } from "../support/folders.ts";
import { MergeWorld } from "../support/merge-world.ts";

/**
 * The merge queue, killed before every program that it starts (git, the lock, a proof) and before
 * every change to a file. The next queue must land the rest: nothing unproven in the target at any
 * time, nothing merged twice, and one line in the ledger for each task.
 */

type Spawn = typeof childProcess.spawn;

/** As a process that is dead from step `at` on: a step is a change to a file, or a program. */
class Death {
  readonly #faults: Faults;
  readonly #at: number;
  readonly #spawn: Spawn = childProcess.spawn;
  #isDead = false;

  constructor(at: number) {
    this.#at = at;
    this.#faults = new Faults("die", at);
    childProcess.spawn = ((command: string, ...rest: never[]) => {
      this.#faults.changes++;
      this.#faults.log.push(`${this.#faults.changes} ${command} ${String(rest[0]).slice(-60)}`);
      if (this.#faults.changes >= this.#at) {
        this.#isDead = true;
        throw new Dead();
      }
      return (this.#spawn as (...all: unknown[]) => unknown)(command, ...rest);
    }) as Spawn;
    syncBuiltinESMExports();
  }

  get happened(): boolean {
    return this.#isDead || this.#faults.happened;
  }

  get story(): string {
    return `death at step ${this.#at} of:\n${this.#faults.log.join("\n")}\n`;
  }

  heal(): void {
    childProcess.spawn = this.#spawn;
    this.#faults.heal();
  }
}

const FILES: Record<string, Record<string, string>> = {
  "t.1": { "b.txt": "b\n" },
  "t.2": { "c.txt": "c\n" },
};
const IDS = Object.keys(FILES);

async function template(home: string, { settings, landed }: Scenario): Promise<void> {
  const world = await MergeWorld.begin({ "a.txt": "one\n" }, home);
  for (const [id, files] of Object.entries(FILES)) {
    await world.done(id, files);
    if (id === landed) await world.merge(provenIn(home, settings));
  }
  await world.store.close();
}

function provenIn(home: string, settings: Partial<MergeSettings>): Partial<MergeSettings> {
  return { ...settings, prove: `git rev-parse HEAD >> ${join(home, "proven")}` };
}

/** The commits of the target that no proof has seen as its HEAD, or before it in a proven one. */
function unproven(world: MergeWorld, target: string, base: string): string[] {
  const log = join(world.home, "proven");
  const proven = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
  const tip = world.git("rev-parse", "--verify", target);
  return tip === base || proven.includes(tip) ? [] : [tip];
}

interface Scenario {
  name: string;
  settings: Partial<MergeSettings>;
  /** One in so many steps: the others are much like them. */
  every: number;
  /** The queue has worked before, and landed it. */
  landed?: string;
}

const SCENARIOS: Scenario[] = [
  // Only its landing file tells that a squashed commit is of a task.
  { name: "the next of a queue", settings: { strategy: "squash" }, every: 1, landed: "t.1" },
  { name: "from the beginning", settings: {}, every: 7 },
  {
    name: "into a branch that is checked out, two together",
    settings: { into: "main", batch: 2 },
    every: 6,
  },
  { name: "rebased", settings: { strategy: "rebase" }, every: 11 },
];

describe("killed at every step", () => {
  test.each(SCENARIOS)("$name", { timeout: 180_000 }, async (scenario) => {
    const { settings, every } = scenario;
    const outer = newFolder();
    const [home, kept] = [join(outer, "home"), join(outer, "template")];
    await template(home, scenario);
    cpSync(home, kept, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    let at = 1;
    for (; ; at += every) {
      rmSync(home, { recursive: true, force: true });
      cpSync(kept, home, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
      if (!(await oneDeath(home, settings, at))) break;
    }
    expect(at).toBeGreaterThan(30);
  });
});

/** False when the queue had ended before that step. */
async function oneDeath(
  home: string,
  settings: Partial<MergeSettings>,
  at: number,
): Promise<boolean> {
  const world = await MergeWorld.open(home);
  const target = settings.into ?? "viv/night";
  const base = world.git("rev-parse", "main");
  const all = provenIn(home, settings);
  const context = await world.context(all);
  const death = new Death(at);
  try {
    await mergeOnce(context, null);
  } catch (error) {
    if (!death.happened) throw error;
  } finally {
    death.heal();
  }
  try {
    if (world.git("for-each-ref", `refs/heads/${target}`) !== "") {
      expect(unproven(world, target, base), "after the death").toEqual([]);
    }
    await recovered(world, all, { target, base });
  } catch (error) {
    throw new Error(`${death.story}${(error as Error).message}`, { cause: error });
  }
  return death.happened;
}

async function recovered(
  world: MergeWorld,
  settings: Partial<MergeSettings>,
  { target, base }: { target: string; base: string },
): Promise<void> {
  world.store = await openRun(world.run, { durability: "fast" });
  await mergeOnce(await world.context(settings), null);
  for (const id of IDS) expect(world.landing(id)?.state, id).toBe("landed");
  expect(unproven(world, target, base)).toEqual([]);
  const lines = await world.ledger("landed");
  expect(lines.map(({ task }) => task).sort()).toEqual(IDS);
  for (const { commit, proof } of lines) {
    expect(proof, "not merged by hand").not.toBe(null);
    expect(() => world.git("merge-base", "--is-ancestor", String(commit), target)).not.toThrow();
  }
  expect(world.git("rev-list", "--count", "--first-parent", `${base}..${target}`)).toBe("2");
  expect(world.git("ls-tree", "--name-only", target)).toBe("a.txt\nb.txt\nc.txt");
  expect(world.git("status", "--porcelain")).toBe("");
  const locks = readdirSync(join(world.repo, ".git"), { recursive: true }).map(String);
  expect(locks.filter((name) => /\.lock$/.test(name) && name !== "viv-merge.lock")).toEqual([]);
  await world.store.close();
}
