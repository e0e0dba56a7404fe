import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CrewFolder, eventsOf, isAlive } from "../support/crew-folder.ts";
import { until } from "../support/deadline.ts";
import { killWithKeeper } from "../support/processes.ts";

/** kill -9 of a crew's supervisor, at any moment: nothing of its runs outlives the next start. */

/** All that a run may leave: a child, one in a session of its own, and one that has lost its parent. */
const FAMILY = `echo $$ >>"$PIDS"
sh -c 'echo $$ >>"$PIDS"; exec sleep 600' &
setsid sh -c 'echo $$ >>"$PIDS"; trap "" TERM; sleep 600; sleep 600' &
(setsid sh -c 'echo $$ >>"$PIDS"; exec sleep 600' &) &
echo begun >>begun
wait`;

function scene(script = FAMILY, more?: string) {
  const crew = new CrewFolder();
  for (const name of ["a", "b", "c"]) crew.member(name, script, more);
  let generation = 0;
  const up = (...flags: string[]) => {
    crew.env.PIDS = join(crew.folder, `pids-${++generation}`);
    return crew.up(...flags);
  };
  /** Of all that the supervisors so far have started, but for the present one. */
  const old = () => {
    const files = readdirSync(crew.folder).filter((name) => /^pids-\d+$/.test(name));
    const before = files.filter((name) => Number(name.slice(5)) < generation);
    return before.flatMap((name) => crew.lines(name).map(Number));
  };
  return { crew, up, old };
}

function assertReadable(crew: CrewFolder): void {
  if (!existsSync(crew.state)) return; // it was killed before it did anything
  for (const file of readdirSync(crew.state).filter((name) => name.endsWith(".json"))) {
    expect(() => JSON.parse(readFileSync(join(crew.state, file), "utf8")), file).not.toThrow();
  }
}

describe("kill -9 of the supervisor", () => {
  it("leaves no run behind: the next start ends them, and goes on by the clocks", async () => {
    const { crew, up, old } = scene();
    const first = up("--max-concurrent=3");
    await crew.hasLines("pids-1", 12);
    const ran = crew.status("a").last_run;
    killWithKeeper(first.child);
    await first.end();
    const pids = crew.lines("pids-1").map(Number);
    expect(pids.filter(isAlive)).toEqual(pids);
    assertReadable(crew);
    expect(crew.status("a")).toMatchObject({ state: "running", run: { pid: expect.any(Number) } });
    expect(crew.json("crew", "ps").members[0]).toMatchObject({ state: "not running" });

    const second = up();
    await second.says('"next"');
    expect(old().filter(isAlive)).toEqual([]);
    const leftovers = eventsOf(second).filter(({ kind }) => kind === "leftover");
    expect(leftovers.map(({ name, survivors }) => [name, survivors])).toEqual([
      ...[
        ["a", []],
        ["b", []],
        ["c", []],
      ],
    ]);
    // By its clock: an hour after it began, not at once, and not an hour from now.
    await until("all are told", () => {
      return eventsOf(second).filter(({ kind }) => kind === "next").length === 3;
    });
    const next = eventsOf(second).find(({ kind, name }) => kind === "next" && name === "a");
    const due = Date.parse(String(next?.at)) + Number(next?.after_ms);
    expect(Math.abs(due - Date.parse(String(ran)) - 3_600_000)).toBeLessThan(1_000);
    second.child.kill("SIGTERM");
    await second.end();
  });

  it("ends its runs at once, though it is not started again", async () => {
    const { crew, up } = scene();
    const supervisor = up("--max-concurrent=3");
    await crew.hasLines("pids-1", 12);
    supervisor.child.kill("SIGKILL");
    await supervisor.end();
    const pids = crew.lines("pids-1").map(Number);
    await until("they are gone", () => pids.filter(isAlive).length === 0);
  });

  it("at any moment, again and again", async () => {
    // They tick as often as they can, so that every step of a tick is hit.
    const { crew, up, old } = scene(
      `echo $$ >>"$PIDS"; setsid sh -c 'echo $$ >>"$PIDS"; exec sleep 600' & sleep 0.0$((RANDOM % 5)); echo NO-WORK`,
      ":INTERVAL: 1\n:CONTINUOUS: no\n:RUN-IF: sleep 0.01\n",
    );
    for (let round = 0; round < 12; round++) {
      const supervisor = up("--max-concurrent=3");
      const killAt = round % 4;
      if (killAt > 0) await supervisor.says('"up"');
      if (killAt > 1) await supervisor.says('"runs"');
      if (killAt > 2) await supervisor.says('"ran"');
      // Once it is up, nothing of those before it is there.
      if (killAt > 0) expect(old().filter(isAlive), `round ${round}`).toEqual([]);
      supervisor.child.kill("SIGKILL");
      await supervisor.end();
      assertReadable(crew);
    }
    const last = up();
    await last.says('"next"');
    expect(old().filter(isAlive)).toEqual([]);
    last.child.kill("SIGTERM");
    expect((await last.end()).status).toBe(0);
    expect(readdirSync(crew.state).filter((name) => /^\..*\d$/.test(name))).toEqual([]);
  });

  it("while RUN-IF is asked: that does not outlive the next start, either", async () => {
    const { crew, up, old } = scene("true", ':RUN-IF: echo $$ >>"$PIDS"; sleep 600\n');
    const first = up();
    await crew.hasLines("pids-1", 3);
    await until(
      "it is shown",
      () => crew.status("c").run !== null && crew.status("c").run?.pid !== 0,
    );
    first.child.kill("SIGKILL");
    await first.end();
    const second = up();
    await second.says('"next"');
    expect(old().filter(isAlive)).toEqual([]);
    second.child.kill("SIGTERM");
    expect((await second.end()).status).toBe(0);
    await until("nothing of the second is left", () => {
      return crew.lines("pids-2").map(Number).filter(isAlive).length === 0;
    });
  });

  it("a run that dies of it counts for nothing, and others' files stay as they were", async () => {
    const { crew, up } = scene("echo begun >>begun; sleep 600");
    const first = up();
    await crew.hasLines("begun", 2);
    first.child.kill("SIGKILL");
    await first.end();
    const second = up();
    await second.says('"next"');
    await until("all wait", () =>
      ["a", "b", "c"].every((name) => crew.status(name).state !== "stopped"),
    );
    expect(crew.status("a")).toMatchObject({ outcome: null, crashes: 0, streak: 0, run: null });
    second.child.kill("SIGTERM");
    await second.says('"stopping"');
    second.child.kill("SIGTERM");
    await second.end();
  });
});
