import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FakeCrew } from "../../test/support/crew-host.ts";
import {
  HOUR,
  MINUTE,
  member,
  NEWSROOM,
  newsroom,
  SECOND,
  solo,
} from "../../test/support/crew-scenes.ts";

describe("the first ticks", () => {
  it("come at 60, 90, 120 and 150 seconds", async () => {
    const fake = newsroom().up(NEWSROOM, { max: 4 });
    const at: [string, number][] = [];
    for (let second = 1; second <= 200; second++) {
      const before = fake.runs.length;
      await fake.pass(SECOND);
      for (const { name } of fake.runs.slice(before)) at.push([name, second]);
    }
    expect(at).toEqual([
      ["desk", 60],
      ["moss", 90],
      ["wren", 120],
      ["hale", 150],
    ]);
  });

  it("go on by their clocks after a restart, and none waits for a whole interval", async () => {
    const fake = newsroom().up(NEWSROOM, { max: 4 });
    await fake.pass(150 * SECOND);
    for (const run of fake.runs) await run.end("done");
    await fake.crew.stop();
    await fake.pass(5 * MINUTE);
    fake.runs.length = 0;
    fake.up(NEWSROOM, { max: 4 });
    // desk ran 390 s ago, moss 360 s, wren 330 s and hale 300 s; then their stagger.
    expect(fake.emitted("next").slice(-4)).toMatchObject([
      { name: "desk", after_ms: 45 * MINUTE - 390 * SECOND },
      { name: "moss", after_ms: 15 * MINUTE - 360 * SECOND + 30 * SECOND },
      { name: "wren", after_ms: 15 * MINUTE - 330 * SECOND + 60 * SECOND },
      { name: "hale", after_ms: 20 * MINUTE - 300 * SECOND + 90 * SECOND },
    ]);
    await fake.pass(HOUR);
    expect(fake.runs.map(({ name }) => name)).toEqual(["moss", "wren", "hale", "desk"]);
  });

  it("of one that was due long ago comes after the grace", async () => {
    const fake = newsroom().up(NEWSROOM);
    await fake.pass(60 * SECOND);
    await fake.run("desk").end("done");
    await fake.crew.stop();
    await fake.pass(24 * HOUR);
    fake.up(NEWSROOM);
    expect(fake.emitted("next").slice(-4, -3)).toMatchObject([{ name: "desk", after_ms: MINUTE }]);
  });

  it.each([
    ["junk", "not a time", "is not a time"],
    ["an empty file", "", "is not a time"],
    ["a folder", null, "cannot be read"],
  ])("treat %s as never, with a warning", async (_, text, problem) => {
    const fake = newsroom();
    const path = join(fake.state, "keeper-last-run-desk");
    fake.files.writeLastRun("moss", fake.world.clock.now());
    if (text !== null) writeFileSync(path, text);
    else fake.broken = (method, name) => method === "lastRun" && name === "desk";
    fake.up(NEWSROOM);
    fake.broken = undefined;
    expect(fake.emitted("trouble")).toMatchObject([
      { name: "desk", message: expect.stringContaining(problem) },
    ]);
    await fake.pass(MINUTE);
    expect(fake.running).toEqual(["desk"]);
  });

  it("of a last run in the future counts as now: the clock was set back a day", async () => {
    const fake = solo();
    await fake.pass(0);
    await fake.run("moss").end("done");
    await fake.crew.stop();
    fake.world.jumpWall(-24 * HOUR);
    fake.up(member("moss", "moss.org", ":INTERVAL: 10m\n"), { graceMs: 0, staggerMs: 0 });
    await fake.pass(10 * MINUTE - 1);
    expect(fake.countOf("moss")).toBe(1);
    await fake.pass(1);
    expect(fake.countOf("moss")).toBe(2);
  });
});

describe("an outcome", () => {
  it("of no work backs off to half an hour, and real work ends that", async () => {
    const fake = solo(":INTERVAL: 90s\n");
    const waited: number[] = [];
    await fake.pass(0);
    for (const outcome of [...Array(7).fill("no_work"), "done", "no_work"] as const) {
      await fake.run("moss").end(outcome, "NO-WORK nothing");
      waited.push((fake.emitted("next").at(-1)?.after_ms ?? 0) / SECOND);
      await fake.pass((waited.at(-1) as number) * SECOND);
    }
    expect(waited).toEqual([180, 360, 720, 1440, 1800, 1800, 1800, 90, 180]);
    expect(fake.status("moss").streak).toBe(1);
  });

  it("of no work stays counted across a restart", async () => {
    const fake = solo(":INTERVAL: 1m\n");
    await fake.pass(0);
    for (let i = 0; i < 3; i++) {
      await fake.run("moss").end("no_work");
      await fake.pass(8 * MINUTE);
    }
    expect(fake.status("moss").streak).toBe(3);
    fake.up(member("moss", "moss.org", ":INTERVAL: 1m\n"), { graceMs: 0, staggerMs: 0 });
    await fake.pass(0);
    await fake.run("moss").end("no_work");
    expect(fake.emitted("next").at(-1)?.after_ms).toBe(16 * MINUTE);
  });

  it("in continuous mode is followed by a breather that counts from its end", async () => {
    const fake = solo(":CONTINUOUS: yes\n:INTERVAL: 1h\n");
    await fake.pass(0);
    await fake.pass(10 * MINUTE);
    await fake.run("moss").end("done");
    await fake.pass(45 * SECOND - 1);
    expect(fake.countOf("moss")).toBe(1);
    await fake.pass(1);
    expect(fake.countOf("moss")).toBe(2);
  });

  it("of no work is shown as backing off only where the next tick is later than its interval", async () => {
    const shown = async (interval: string) => {
      const fake = solo(`:INTERVAL: ${interval}\n`);
      await fake.pass(0);
      await fake.run("moss").end("no_work", "NO-WORK");
      const { state, next_tick, last_run } = fake.status("moss");
      const minutes = (Date.parse(next_tick ?? "") - Date.parse(last_run ?? "")) / MINUTE;
      return { state, minutes };
    };
    expect(await shown("15m")).toEqual({ state: "backing_off", minutes: 30 });
    expect(await shown("45m")).toEqual({ state: "waiting", minutes: 45 });
  });

  it.each([
    ["failed", "it failed 5 times in a row: exit 3"],
    ["killed", "it was killed 5 times in a row: exit 3"],
  ] as const)("%s is tried again ever later; the fifth in a row parks it", async (outcome, why) => {
    const fake = solo();
    await fake.pass(0);
    const waited: number[] = [];
    for (let i = 0; i < 5; i++) {
      await fake.run("moss").end(outcome, "exit 3");
      if (i === 4) break;
      expect(fake.status("moss")).toMatchObject({ state: "backing_off", outcome, note: "exit 3" });
      const { after_ms = 0 } = fake.emitted("next").at(-1) ?? {};
      waited.push(after_ms / MINUTE);
      await fake.pass(after_ms);
    }
    expect(waited).toEqual([20, 40, 80, 160]);
    expect(fake.status("moss")).toMatchObject({ state: "parked", next_tick: null });
    expect(fake.emitted("parked")[0]?.note).toBe(
      `${why}; correct that, then: viv crew resume moss`,
    );
    await fake.pass(HOUR);
    expect(fake.countOf("moss")).toBe(5);
    expect(await fake.ask({ cmd: "resume", name: "moss" })).toMatchObject({ ok: true });
    await fake.pass(0);
    await fake.run("moss").end("done");
    expect(fake.status("moss")).toMatchObject({ state: "waiting", crashes: 0 });
  });

  it("crashed is followed by 1, 2, 4 and 8 seconds; the fifth in a row parks it", async () => {
    const fake = newsroom().up(
      member("moss", "researcher.org") + member("wren", "writer.org", ":INTERVAL: 1s\n"),
      { graceMs: 0, staggerMs: 0 },
    );
    await fake.pass(0);
    const waited: number[] = [];
    for (let i = 0; i < 5; i++) {
      await fake.run("moss").end("crashed", "ended by SIGSEGV");
      const { after_ms = 0 } = fake.emitted("next").findLast(({ name }) => name === "moss") ?? {};
      waited.push(after_ms);
      await fake.pass(after_ms);
    }
    expect(waited.slice(0, 4)).toEqual([1, 2, 4, 8].map((n) => n * SECOND));
    expect(fake.countOf("moss")).toBe(5);
    expect(fake.status("moss")).toMatchObject({ state: "parked", next_tick: null, crashes: 5 });
    expect(fake.emitted("parked")[0]?.note).toContain("SIGSEGV");
    await fake.run("wren").end("done");
    await fake.pass(HOUR);
    expect(fake.countOf("moss")).toBe(5);
    expect(fake.countOf("wren")).toBe(2);
    // Another's def and entry are not its own.
    fake.texts.set("/news/writer.org", "changed");
    await fake.pass(2 * SECOND);
    expect(fake.status("moss").state).toBe("parked");

    expect(await fake.ask({ cmd: "resume", name: "moss" })).toMatchObject({ ok: true });
    await fake.pass(0);
    expect(fake.countOf("moss")).toBe(6);
    await fake.run("moss").end("crashed");
    expect(fake.status("moss")).toMatchObject({ state: "backing_off", crashes: 1 });
  });

  it("that a run longer than its interval has is followed at once by the next", async () => {
    const fake = solo(":INTERVAL: 10s\n");
    await fake.pass(0);
    await fake.pass(MINUTE);
    await fake.run("moss").end("done");
    await fake.pass(0);
    expect(fake.countOf("moss")).toBe(2);
  });
});

describe("RUN-IF", () => {
  it("that fails costs no engine, no slot and no last run, and is counted", async () => {
    const fake = solo(":RUN-IF: test -e inbox\n:INTERVAL: 10m\n");
    fake.due = () => false;
    await fake.pass(30 * MINUTE);
    expect(fake.asked).toHaveLength(4);
    expect(fake.runs).toEqual([]);
    expect(fake.status("moss")).toMatchObject({ state: "waiting", saved: 4, outcome: null });
    expect(fake.status("moss").note).toBe("nothing new");
    // Emitted when it begins, and when there is a tick again.
    expect(fake.emitted("saved")).toEqual([
      { kind: "saved", name: "moss", saved: 1, note: "nothing new" },
    ]);
    expect(fake.emitted("due")).toEqual([]);
    expect(existsSync(join(fake.state, "keeper-last-run-moss"))).toBe(false);
    expect(fake.gate?.view()).toMatchObject({ holders: [], queue: [] });
    fake.due = () => true;
    await fake.pass(10 * MINUTE);
    expect(fake.running).toEqual(["moss"]);
    expect(fake.emitted("due")).toEqual([{ kind: "due", name: "moss", meanwhile: 4, saved: 4 }]);
    fake.due = () => false;
    await fake.run("moss").end("done");
    await fake.pass(10 * MINUTE);
    expect(fake.emitted("saved")).toHaveLength(2);
    // It stays counted.
    fake.up(member("moss", "moss.org"));
    expect(fake.status("moss").saved).toBe(5);
  });

  it("is not asked for a tick by hand", async () => {
    const fake = solo(":RUN-IF: false\n:INTERVAL: 10m\n");
    fake.due = () => false;
    await fake.pass(0);
    void fake.ask({ cmd: "tick", name: "moss" });
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["moss"]);
    expect(fake.asked).toHaveLength(1);
  });

  it("that fails does not answer a requested tick: that comes after it", async () => {
    const fake = solo(":RUN-IF: sleep 50\n");
    const answer = answeredLater(fake);
    await fake.pass(0);
    void fake.ask({ cmd: "tick", name: "moss" });
    await fake.pass(SECOND);
    expect(fake.running).toEqual([]);
    answer(false);
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["moss"]);
  });

  it("that is being asked is shown, and stopping does not wait for it", async () => {
    const fake = solo(":RUN-IF: sleep 50\n");
    const answer = answeredLater(fake);
    await fake.pass(0);
    expect(fake.status("moss").state).toBe("checking");
    const stopped = fake.crew.stop();
    answer(true);
    await stopped;
    expect(fake.runs).toEqual([]);
    expect(fake.status("moss").state).toBe("stopped");
  });
});

describe("money", () => {
  it("that is used up holds that member and no other, and counts as nothing", async () => {
    const fake = newsroom().up(
      member("moss", "researcher.org", ":BUDGET-USD-DAY: 1\n:INTERVAL: 1m\n") +
        member("wren", "writer.org", ":INTERVAL: 1m\n"),
      { graceMs: 0, staggerMs: 0 },
    );
    const midnight = (Math.floor(fake.world.clock.now() / (24 * HOUR)) + 1) * 24 * HOUR;
    fake.held = (name, costToday) =>
      name === "moss" && costToday >= 1
        ? { note: "its $1 of today are used up", until: midnight }
        : null;
    await fake.pass(0);
    await fake.run("moss").end("no_work", "", 0.75);
    await fake.run("wren").end("done");
    await fake.pass(2 * MINUTE);
    await fake.run("moss").hold("the budget of the day is used up", null, 0.5);
    expect(fake.status("moss")).toMatchObject({
      ...{ state: "held", cost_today: 1.25, streak: 1, crashes: 0, outcome: "no_work", run: null },
    });
    await fake.run("wren").end("done");
    await fake.pass(10 * MINUTE);
    expect(fake.countOf("moss")).toBe(2);
    expect(fake.countOf("wren")).toBe(3);
    // Emitted when it changes, not at each look.
    expect(fake.emitted("held").map(({ note }) => note)).toEqual([
      "the budget of the day is used up",
      "its $1 of today are used up",
    ]);
    await fake.pass(midnight - fake.world.clock.now() + MINUTE);
    expect(fake.countOf("moss")).toBe(3);
    expect(fake.run("moss").hooks.costToday).toBe(0);
  });

  it("of a run that is killed with its crew counts on its day, and once", async () => {
    const fake = solo();
    await fake.pass(0);
    await fake.run("moss").end("done", "", 0.5);
    await fake.pass(HOUR);
    fake.run("moss").hooks.onSpent(0.25);
    expect(fake.status("moss")).toMatchObject({ cost_today: 0.5, run_usd: 0.25 });
    // kill -9, twice: the second before the first new one has run anything.
    for (let i = 0; i < 2; i++) {
      again(fake);
      expect(fake.status("moss")).toMatchObject({ cost_today: 0.75 });
      expect(fake.status("moss")).not.toHaveProperty("run_usd");
    }
    await fake.pass(HOUR);
    expect(fake.run("moss").hooks.costToday).toBe(0.75);
    fake.run("moss").hooks.onSpent(0.1);
    await fake.run("moss").end("done", "", 0.125);
    expect(fake.status("moss")).toMatchObject({ cost_today: 0.875 });
    expect(fake.status("moss")).not.toHaveProperty("run_usd");

    await fake.pass(HOUR);
    fake.run("moss").hooks.onSpent(7);
    fake.world.advance(24 * HOUR);
    again(fake);
    await fake.pass(HOUR);
    expect(fake.run("moss").hooks.costToday).toBe(0);
  });

  it("counts on the day on which it is spent", async () => {
    const fake = solo();
    await fake.pass(0);
    fake.run("moss").hooks.onSpent(1);
    await fake.pass(24 * HOUR);
    fake.run("moss").hooks.onSpent(2);
    await fake.pass(SECOND);
    again(fake);
    await fake.pass(HOUR);
    expect(fake.run("moss").hooks.costToday).toBe(2);
  });

  it("that a run spends is written once a second, the last of it too", async () => {
    const fake = solo();
    await fake.pass(0);
    let writes = 0;
    fake.broken = (method) => {
      if (method === "writeStatus") writes++;
      return false;
    };
    const { hooks } = fake.run("moss");
    for (let i = 1; i <= 25; i++) {
      hooks.onSpent(i / 100);
      await fake.pass(100);
    }
    expect(fake.status("moss").run_usd).toBe(0.2);
    await fake.pass(MINUTE);
    expect(fake.status("moss").run_usd).toBe(0.25);
    expect(writes).toBe(4);
    hooks.onSpent(0.3);
    hooks.onSpent(0.31);
    await fake.crew.stopNow();
    expect(fake.status("moss")).toMatchObject({ state: "stopped", cost_today: 0.31 });
    expect(fake.pending).toBe(0);
  });

  it("of a run that breaks counts as far as it is known", async () => {
    const fake = solo();
    await fake.pass(0);
    fake.run("moss").hooks.onSpent(0.25);
    await fake.run("moss").throw(new Error("EIO"));
    expect(fake.status("moss")).toMatchObject({ state: "waiting", cost_today: 0.25 });
    expect(fake.status("moss")).not.toHaveProperty("run_usd");
  });

  it("and an account that opens early is seen within a minute", async () => {
    const fake = solo();
    fake.held = () => ({
      note: "its account claude is closed",
      until: fake.world.clock.now() + HOUR,
    });
    await fake.pass(0);
    expect(fake.status("moss").state).toBe("held");
    fake.held = () => null;
    await fake.pass(MINUTE);
    expect(fake.running).toEqual(["moss"]);
  });
});

/** After a kill -9: nothing of the old crew is stopped. */
function again(fake: FakeCrew): void {
  fake.up(member("moss", "moss.org", ":INTERVAL: 10m\n"), { graceMs: 0, staggerMs: 0 });
}

/** Its RUN-IF answers only when the test decides. */
function answeredLater(fake: FakeCrew): (due: boolean) => void {
  let resolve: (due: boolean) => void = () => {};
  fake.due = () =>
    new Promise((answer) => {
      resolve = answer;
    });
  return (due) => resolve(due);
}
