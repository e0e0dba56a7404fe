import { appendFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LedgerLine } from "../../src/queue/ledger.ts";
import { viv } from "../cli/support.ts";
import { Example, edit } from "./example.ts";

const TIMEOUT_MS = 180_000; // several whole runs

interface Entry {
  outcome?: string;
  worker?: string;
  retried?: true;
  by?: string;
  note?: string;
}

interface Food {
  id: string;
  state: string;
  task: { task_type: string; parent?: string; depends_on: string[] };
  history: Entry[];
  proof?: { exit: number | null; command: string; output: string };
}

class Pit extends Example {
  constructor() {
    super("snake-pit");
  }

  /** The menu has only these. */
  serve(...foods: string[]): void {
    const menu = join(this.folder, "menu.mjs");
    edit(menu, "export const MENU = [", "const ALL = [");
    const only = JSON.stringify(foods);
    appendFileSync(menu, `export const MENU = ALL.filter(({ name }) => ${only}.includes(name));\n`);
  }

  names(folder: string): string[] {
    return readdirSync(join(this.work, "pit", folder)).sort();
  }

  /** The food that asks for this. */
  async food(name: string): Promise<Food> {
    const { tasks } = await this.json<{ tasks: { id: string }[] }>("ls");
    const found = tasks.filter(({ id }) => new RegExp(`^food-\\d+-${name}-`).test(id));
    if (found.length !== 1) throw new Error(`${found.length} foods ask for ${name}`);
    return this.json("show", found[0]?.id ?? "");
  }

  ledger(id: string): LedgerLine[] {
    const lines = this.names("record/ledger")
      .flatMap((name) => this.text(`pit/record/ledger/${name}`).split("\n"))
      .filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as LedgerLine).filter(({ task }) => task === id);
  }
}

function outcomes({ history }: Food): (string | undefined)[] {
  return history.map(({ outcome }) => outcome);
}

const FUNCTIONS = ["reverse", "fizzbuzz", "roman", "primes", "slugify", "deburr", "caesar"];
const PARTS = ["wordcount", "palindrome", "titlecase", "toolkit"];

describe("examples/snake-pit", () => {
  it(
    "eats all of it, through death, choking and food that is stuck",
    async () => {
      const pit = new Pit();
      const { status, stdout, stderr } = pit.run();
      expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain(
        "14 foods eaten; 13 proofs run once more, all of them hold\nhealthy\n",
      );
      expect(stdout).toMatch(/^\| \*\*all\*\* \| +\d+ \|/m); // of SUMMARY.md
      expect(pit.processes()).toEqual([]);

      expect(await pit.counts()).toEqual({ done: 14 });
      for (const folder of ["food", "claimed", "resting/later", "resting/review", "resting/stuck"])
        expect(pit.names(folder)).toEqual([]);
      for (const name of [...FUNCTIONS, ...PARTS]) {
        const { id, state, proof } = await pit.food(name);
        const command = `node --test scraps/${name}.test.mjs`;
        expect({ id, state, proof }).toMatchObject({ state: "done", proof: { exit: 0, command } });
        expect(proof?.output).toMatch(/\bpass [1-9]/);
        expect(pit.names("done")).toEqual(expect.arrayContaining([`${id}.md`, `${id}.result.md`]));
        expect(statSync(join(pit.work, `pit/scraps/${name}.mjs`)).size).toBeGreaterThan(0);
      }

      // Wrong at first, and only the proof noticed.
      const fizzbuzz = await pit.food("fizzbuzz");
      expect(pit.ledger(fizzbuzz.id)).toContainEqual(
        expect.objectContaining({ event: "ended", outcome: "unproven" }),
      );
      const evidence = `pit/record/artifacts/${fizzbuzz.id}.evidence`;
      const [first = ""] = readdirSync(join(pit.work, evidence)).filter((f) => f.endsWith(".log"));
      expect(pit.text(`${evidence}/${first}`)).toContain('fizzbuzz(30) is "FizzBuzz"');
      expect(pit.text(`pit/record/artifacts/${fizzbuzz.id}.log`)).toContain(
        'another way, because of fizzbuzz(30) is "FizzBuzz"',
      );

      // Choked on: the note names who, and somebody else has done it.
      const roman = await pit.food("roman");
      expect(outcomes(roman).filter((outcome) => outcome === "unproven")).toHaveLength(3);
      const notes = pit.names("scraps").filter((name) => name.startsWith("choke-"));
      expect(notes).toHaveLength(1);
      const [, choker] =
        new RegExp(`^choke-${roman.id}-(snake-\\d)\\.md$`).exec(notes[0] ?? "") ?? [];
      expect(roman.history.findLast(({ outcome }) => outcome === "unproven")?.worker).toBe(choker);
      expect(roman.history.at(-1)?.outcome).toBe("done");
      expect(roman.history.at(-1)?.worker).not.toBe(choker);

      // Died of: its food went back, and somebody else has done it.
      const primes = await pit.food("primes");
      const dead = pit.text("pit/scraps/bitten");
      expect(pit.ledger(primes.id)).toContainEqual(
        expect.objectContaining({ event: "ended", outcome: "abandoned", worker: dead }),
      );
      expect(primes.history.at(-1)?.outcome).toBe("done");
      expect(primes.history.at(-1)?.worker).not.toBe(dead);
      expect(pit.text("up.log")).toContain(`"name":"${dead}","exit":"SIGKILL"`);

      // Stuck: the keeper was told, tossed what was missing, and sent it round again.
      const slugify = await pit.food("slugify");
      const deburr = await pit.food("deburr");
      expect(outcomes(slugify)).toEqual(["unproven", "unproven", undefined, "done"]);
      const retried = { retried: true, by: "keeper", note: `deburr is there now: ${deburr.id}` };
      expect(slugify.history[2]).toMatchObject(retried);
      expect(deburr.task.parent).toBe(`keeper-${slugify.id}`);
      expect((await pit.show(`keeper-${slugify.id}`)).state).toBe("done");

      // Too big: cut by the planner, whose result names the parts.
      const whole = await pit.food("text-toolkit");
      expect(whole).toMatchObject({ state: "done", task: { task_type: "planner" } });
      expect(whole.history.at(-1)?.worker).toBe("planner");
      const parts = await Promise.all(PARTS.map((name) => pit.food(name)));
      for (const { id, task } of parts) {
        expect(task.parent).toBe(whole.id);
        expect(pit.text(`pit/done/${whole.id}.result.md`)).toContain(`- ${id}\n`);
      }
      const before = parts.slice(0, 3).map(({ id }) => id);
      expect(parts[3]?.task.depends_on).toEqual(before);

      // By hand: as the snake wrote it, and proven by another.
      const headings = await pit.food("headings");
      expect(headings).toMatchObject({ state: "done", proof: { exit: 0 } });
      // Its own, or "?" if no process of ours looked while it held the claim.
      expect(headings.history.at(-1)?.worker).toMatch(/^(?:shell|\?)$/);
      expect(pit.text(`pit/done/${headings.id}.result.md`)).toBe(
        "The headings are in scraps/headings.txt.\n",
      );
      expect(pit.text("pit/scraps/headings.txt")).toMatch(/^# .+\n(#+ .+\n)+$/);
      const mine = pit.names("waste").filter((name) => name.startsWith("shell-"));
      expect(mine).toHaveLength(1);
      expect(pit.text(`pit/waste/${mine[0]}`)).toBe(`${headings.id}: copied the headings\n`);

      expect(pit.paste()).toMatchObject({ status: 0, stderr: "" });

      // Once more, where it has been: nothing is tossed twice, and the check believes no record.
      edit(join(pit.work, "pit/scraps/reverse.mjs"), ".reverse()", "");
      const again = pit.run();
      expect(again.stderr).toContain(`${(await pit.food("reverse")).id} is not proven`);
      expect(again.status).toBe(1);
      expect(await pit.counts()).toEqual({ done: 14 });
    },
    TIMEOUT_MS,
  );

  it(
    "does not call done what is wrong",
    async () => {
      const pit = new Pit();
      pit.serve("slugify");
      edit(join(pit.folder, "repertoire/slugify.mjs"), '"-"', '"_"');
      const { status, stderr } = pit.run();
      const { id, state, history } = await pit.food("slugify");
      expect(stderr).toBe(`the keeper does not know what to do about ${id}\n`);
      expect(status).toBe(1);
      expect(state).toBe("failed");
      // Twice without deburr, twice with it.
      const twice = ["unproven", "unproven"];
      expect(history.map(({ outcome }) => outcome)).toEqual([...twice, undefined, ...twice]);
      expect(existsSync(join(pit.work, `pit/done/${id}.md`))).toBe(false);
      expect(pit.processes()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    "leaves nothing running after Ctrl-C, and goes on when it is started again",
    async () => {
      const pit = new Pit();
      pit.serve("reverse", "primes", "headings");
      await pit.interrupt("a snake is dead", "pit/scraps/chewing-pid");
      expect(pit.processes()).toEqual([]);
      expect(viv(["doctor"], { cwd: pit.work })).toMatchObject({ status: 0 });

      expect(pit.run()).toMatchObject({ status: 0, stderr: "" });
      expect(await pit.counts()).toEqual({ done: 3 });
    },
    TIMEOUT_MS,
  );
});
