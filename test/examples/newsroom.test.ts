import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { environment, viv } from "../cli/support.ts";
import { Example, edit } from "./example.ts";

// A run is some eighty short processes: seconds on an idle machine, a minute on one with ten others at work.
const RUN_MS = 120_000;
const TIMEOUT_MS = 2 * RUN_MS + 60_000;

interface CrewLine {
  kind: string;
  name?: string;
  outcome?: string;
}

class Newsroom extends Example {
  constructor() {
    super("newsroom", RUN_MS);
  }

  /** Where one story tells enough: it, and one that is over at once. */
  dropLeads(): void {
    edit(join(this.folder, "leads.org"), /^\* the li[^*]*/gm, "");
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.work, encoding: "utf8", env: environment() });
  }

  /** `author: subject` of every commit, the oldest first. */
  log(): string[] {
    return this.git("log", "--reverse", "--format=%an %s").trimEnd().split("\n");
  }

  /** Those about one story. */
  about(slug: string): string[] {
    return this.log().filter((line) => line.includes(` ${slug}`));
  }

  async states(): Promise<Record<string, string>> {
    const { tasks } = await this.json<{
      tasks: { slug: string; state: string; agent: string | null }[];
    }>("board", "ls");
    return Object.fromEntries(tasks.map(({ slug, state, agent }) => [slug, agent ?? state]));
  }

  crewLog(): CrewLine[] {
    const lines = this.text("crew.log").split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as CrewLine);
  }
}

const ALL_OVER = {
  "the-night-ferry": "PUBLISHED",
  "the-library-roof": "PUBLISHED",
  "the-whale-in-the-bay": "KILLED",
  "the-lighthouse-lamp": "PUBLISHED",
};

describe("examples/newsroom", () => {
  it(
    "publishes what has sources, through four agents, one board and two slots",
    async () => {
      const room = new Newsroom();
      const { status, stdout, stderr } = room.run();
      expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain("all by the protocol\n");
      expect(stdout).toContain(
        "\n3 published, 1 killed, 1 bounced; every sentence has its source;",
      );
      expect(stdout).toMatch(
        /^the gate of the crew in .*: [0-2] of 2 slots taken(, [0-9]+ waiting)?$/m,
      );
      expect(stdout).toMatch(/^ {2}(desk|moss|wren|hale) (board|commit) /m); // the wire
      expect(room.processes()).toEqual([]);

      expect(await room.states()).toEqual(ALL_OVER);
      expect(room.about("the-library-roof")).toEqual([
        "desk desk: open the-library-roof",
        "moss research: claim the-library-roof",
        "moss research: skeleton of the-library-roof",
        "moss research: the-library-roof — 2 facts, sources: 2, gaps: none",
        "wren write: claim the-library-roof",
        "wren write: draft 1 of the-library-roof",
        "wren write: the-library-roof — draft 1, 2 sentences",
        "hale edit: claim the-library-roof",
        "hale publish: the-library-roof — every sentence has a source",
      ]);
      expect(room.about("the-whale-in-the-bay")).toEqual([
        "desk desk: open the-whale-in-the-bay",
        "moss research: claim the-whale-in-the-bay",
        "moss research: the-whale-in-the-bay — no source, no story",
      ]);

      // A gap, a guess, a bounce: what came of it is in the log, and not in the story.
      const guess = "The fare will surely please everybody.";
      expect(room.about("the-night-ferry").slice(6)).toEqual([
        "wren write: the-night-ferry — draft 1, 4 sentences",
        "hale edit: claim the-night-ferry",
        `hale edit: bounce the-night-ferry — no source for "${guess}"`,
        "wren write: claim the-night-ferry",
        "wren write: draft 2 of the-night-ferry",
        "wren write: the-night-ferry — draft 2, 3 sentences",
        "hale edit: claim the-night-ferry",
        "hale publish: the-night-ferry — every sentence has a source",
      ]);
      expect(room.text("content/research/the-night-ferry.org")).toContain("\n* gaps\n- fare\n");
      const story = "content/stories/the-night-ferry.md";
      const drafts = room.git("log", "--format=%h", "--", story).trimEnd().split("\n");
      expect(drafts.map((at) => room.git("show", `${at}:${story}`).includes(guess))).toEqual([
        false,
        true,
      ]);
      expect(room.text(story)).toContain("at 22:40. [F2]\n");

      // Nobody's work got lost among the others' commits.
      expect(room.git("status", "--porcelain")).toBe("");
      expect(room.git("ls-files", "content").trimEnd().split("\n")).toHaveLength(6);
      expect(await room.json("board", "audit")).toMatchObject({ claims: 12, findings: [] });

      let [now, most] = [0, 0];
      for (const { kind, outcome } of room.crewLog()) {
        if (kind === "runs") most = Math.max(most, ++now);
        if (kind !== "ran") continue;
        now--;
        expect(outcome).toMatch(/^(done|no_work)$/);
      }
      expect(now).toBe(0);
      expect(most).toBeLessThanOrEqual(2);
      const idle = room.crewLog().filter(({ outcome }) => outcome === "no_work");
      expect(new Set(idle.map(({ name }) => name))).toEqual(
        new Set(["desk", "moss", "wren", "hale"]),
      );

      expect(room.paste()).toMatchObject({ status: 0, stderr: "" });

      // Once more, where it has been: there is nothing to do, and nothing is done.
      const head = room.git("rev-parse", "HEAD");
      expect(room.run()).toMatchObject({ status: 0, stderr: "" });
      expect(room.git("rev-parse", "HEAD")).toBe(head);
    },
    TIMEOUT_MS,
  );

  it(
    "finds a story without a source, though its editor was asleep",
    () => {
      const room = new Newsroom();
      room.dropLeads();
      edit(join(room.folder, "stand-in/editor.mjs"), "problems.length > 0", "false");
      const { status, stderr } = room.run();
      expect(stderr.split("\n")).toEqual([
        'the-night-ferry is published: no source for "The fare will surely please everybody."',
        "0 bounces",
        "",
      ]);
      expect(status).toBe(1);
      expect(room.processes()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    "does nothing without its laws",
    () => {
      const room = new Newsroom();
      edit(join(room.folder, "researcher.org"), "#+SHARED: laws.org\n", "");
      const { status, stderr } = room.run();
      expect(stderr).toContain('nobody told me \\"#+TITLE: laws');
      expect(status).toBe(1);
      expect(room.log().filter((line) => line.startsWith("moss "))).toEqual([]);
      expect(room.processes()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    "leaves nothing running after Ctrl-C, and goes on when it is started again",
    async () => {
      const room = new Newsroom();
      room.dropLeads();
      await room.interrupt("wren writes", "content/stories/the-night-ferry.md");
      expect(room.processes()).toEqual([]);
      expect(viv(["board", "audit"], { cwd: room.work })).toMatchObject({ status: 0 });

      expect(room.run()).toMatchObject({ status: 0, stderr: "" });
      expect(await room.states()).toEqual({
        "the-night-ferry": "PUBLISHED",
        "the-whale-in-the-bay": "KILLED",
      });
    },
    TIMEOUT_MS,
  );
});
