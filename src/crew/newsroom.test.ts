import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FakeCrew } from "../../test/support/crew-host.ts";
import { MINUTE } from "../../test/support/crew-scenes.ts";
import { nextFor, readBoard } from "../board/board.ts";
import { advanceMove, bounceMove, claimMove, type Move, openMove } from "../board/moves.ts";

/**
 * The newsroom's own manifest, defs and board, on a clock that tests move: a script's part of a run is done
 * here, in the process, by the same decisions about the board. Hours pass in a second.
 */
const file = (name: string) =>
  readFileSync(new URL(`../../examples/newsroom/${name}`, import.meta.url), "utf8");

const LEADS = ["the night ferry", "the library roof", "the whale in the bay"];
/** The task an agent takes from the board, as `viv board next --state` in its RUN-IF. */
const TAKES: Record<string, string> = { moss: "ASSIGNED", wren: "WRITING", hale: "EDIT" };

class Newsroom extends FakeCrew {
  board = file("board.org");
  readonly commits: string[] = [];
  readonly bounced = new Set<string>();
  readonly began: [string, number][] = [];
  mostAtATime = 0;

  constructor() {
    super();
    for (const def of ["desk", "researcher", "writer", "editor", "laws"]) {
      this.texts.set(`/news/${def}.org`, file(`${def}.org`));
    }
    this.due = (name) => {
      const takes = TAKES[name];
      return nextFor(readBoard(this.board), name, takes === undefined ? takes : [takes]) !== null;
    };
  }

  /** A minute passes; runs that began before it end. */
  async minute(minute: number): Promise<void> {
    const before = this.runs.filter(({ isOver }) => !isOver);
    const known = this.runs.length;
    await this.pass(MINUTE);
    for (const { name } of this.runs.slice(known)) this.began.push([name, minute]);
    this.mostAtATime = Math.max(this.mostAtATime, this.running.length);
    for (const run of before) {
      const said = this.work(run.name);
      await run.end(said === null ? "no_work" : "done", said ?? "NO-WORK");
    }
  }

  work(name: string): string | null {
    const state = TAKES[name];
    if (state === undefined) return this.assign();
    const task = nextFor(readBoard(this.board), name, [state]);
    if (task === null) return null;
    const { slug } = task;
    const now = this.world.clock.now();
    const mine = () => nextFor(readBoard(this.board), name, [state]) ?? task;
    this.commit(claimMove(readBoard(this.board), task, { agent: name, now }));
    const at = readBoard(this.board);
    if (name === "moss" && slug.includes("whale")) {
      return this.commit(
        advanceMove(at, mine(), { agent: name, now, to: "KILLED", note: "no source" }),
      );
    }
    if (name === "hale" && slug.includes("ferry") && !this.bounced.has(slug)) {
      this.bounced.add(slug);
      return this.commit(
        bounceMove(at, mine(), { agent: name, now, note: "no source for the fare" }),
      );
    }
    return this.commit(advanceMove(at, mine(), { agent: name, now }));
  }

  assign(): string | null {
    const titles = readBoard(this.board).tasks.map(({ title }) => title);
    const fresh = LEADS.filter((lead) => !titles.includes(lead));
    for (const lead of fresh) {
      this.commit(openMove(readBoard(this.board), lead, {}));
    }
    return fresh.length === 0 ? null : `opened ${fresh.length}`;
  }

  commit({ subject, text }: Move): string {
    this.commits.push(subject);
    this.board = text ?? this.board;
    return subject;
  }

  of(slug: string): string[] {
    return this.commits
      .filter((subject) => subject.includes(slug))
      .map((one) => one.replace(/ — .*/, ""));
  }
}

it("takes every lead through its pipeline by the clocks of its manifest, two at a time", async () => {
  const room = new Newsroom();
  room.up(file("crew.org"));
  for (let minute = 1; minute <= 4 * 60; minute++) await room.minute(minute);

  const states = Object.fromEntries(
    readBoard(room.board).tasks.map(({ slug, state }) => [slug, state]),
  );
  expect(states).toEqual({
    "the-night-ferry": "PUBLISHED",
    "the-library-roof": "PUBLISHED",
    "the-whale-in-the-bay": "KILLED",
  });
  expect(room.of("the-library-roof")).toEqual([
    ...[
      "desk: open the-library-roof",
      "research: claim the-library-roof",
      "research: the-library-roof",
    ],
    ...["write: claim the-library-roof", "write: the-library-roof"],
    ...["edit: claim the-library-roof", "publish: the-library-roof"],
  ]);
  expect(room.of("the-night-ferry").filter((one) => /bounce|^publish/.test(one))).toEqual([
    ...["edit: bounce the-night-ferry", "publish: the-night-ferry"],
  ]);

  // desk has its tick after the grace; the others are asked a stagger later each, and have nothing yet.
  expect(room.began[0]).toEqual(["desk", 1]);
  expect(room.began.find(([name]) => name !== "desk")?.[0]).toBe("moss");
  expect(room.mostAtATime).toBeLessThanOrEqual(2);
  for (const [name, interval] of [
    ["moss", 15],
    ["wren", 15],
    ["hale", 20],
  ] as const) {
    const at = room.began.flatMap(([agent, minute]) => (agent === name ? [minute] : []));
    const gaps = at.slice(1).map((minute, i) => minute - (at[i] ?? 0));
    // By its clock, or a multiple of it: what RUN-IF saves is no tick.
    expect(gaps.map((gap) => gap % interval)).toEqual(gaps.map(() => 0));
    expect(room.status(name)).toMatchObject({ state: "waiting", streak: 0 });
    expect(room.status(name).saved).toBeGreaterThan(0);
  }
  expect(room.status("desk").streak).toBeGreaterThan(1);
  expect(
    room.emitted("ran").every(({ outcome }) => outcome === "done" || outcome === "no_work"),
  ).toBe(true);
  expect([...room.emitted("trouble"), ...room.emitted("parked"), ...room.emitted("log")]).toEqual(
    [],
  );
  expect(room.run("moss").hooks.prompt.startsWith(file("laws.org").trimEnd().slice(0, 40))).toBe(
    true,
  );
  await room.crew.stop();
});
