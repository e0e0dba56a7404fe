import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeCrew } from "../../../test/support/crew-host.ts";
import { settled } from "../../../test/support/up-host.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const member = (name: string, def: string, more = "") =>
  `* ${name}\n:PROPERTIES:\n:DEF: ${def}\n${more}:END:\n`;

/** The seed's manifest. */
const NEWSROOM = `#+TITLE: crew — the bit.ml newsroom manifest
${member("desk", "desk.org", ":INTERVAL: 45m\n")}${member("moss", "researcher.org", ":INTERVAL: 15m\n")}
${member("wren", "writer.org", ":INTERVAL: 15m\n")}${member("hale", "editor.org", ":INTERVAL: 20m\n")}`;

function newsroom(): FakeCrew {
  const fake = new FakeCrew();
  for (const def of ["desk", "researcher", "writer", "editor"]) {
    fake.texts.set(`/news/${def}.org`, `You are the ${def}.`);
  }
  return fake;
}

/** One member with an interval of ten minutes, unless `more` says otherwise. */
function solo(more = ":INTERVAL: 10m\n"): FakeCrew {
  const fake = new FakeCrew();
  fake.texts.set("/news/moss.org", "You are moss.");
  return fake.up(member("moss", "moss.org", more), { graceMs: 0, staggerMs: 0 });
}

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
    expect(fake.told("next").slice(-4)).toMatchObject([
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
    expect(fake.told("next").slice(-4, -3)).toMatchObject([{ name: "desk", after_ms: MINUTE }]);
  });

  it.each([
    ["junk", "not a time", "is not a time"],
    ["an empty file", "", "is not a time"],
    ["a folder", null, "cannot be read"],
  ])("treat %s as never, and tell it", async (_, text, problem) => {
    const fake = newsroom();
    const path = join(fake.state, "keeper-last-run-desk");
    fake.files.writeLastRun("moss", fake.world.clock.now());
    if (text !== null) writeFileSync(path, text);
    else fake.broken = (method, name) => method === "lastRun" && name === "desk";
    fake.up(NEWSROOM);
    fake.broken = undefined;
    expect(fake.told("trouble")).toMatchObject([
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

describe("files", () => {
  const LIFECYCLE = "#+START: draft\n* draft\n:PROPERTIES:\n:NEXT: polish\n:END:\n* polish\n";

  it("are called as in the seed's table, the singleton's without a name", async () => {
    const fake = newsroom();
    fake.texts.set("/news/life.org", LIFECYCLE);
    fake.up(member("wren", "writer.org", ":LIFECYCLE: life.org\n") + member("moss", "desk.org"), {
      graceMs: 0,
      staggerMs: 0,
    });
    await fake.pass(0);
    await fake.run("wren").end("done");
    await fake.run("moss").end("done");
    const names = readdirSync(fake.state).filter((file) => !["inbox", "outbox"].includes(file));
    expect(names.sort()).toEqual([
      ...["_steps.jsonl", "crew.json", "gate.json", "keeper-last-run-moss", "keeper-last-run-wren"],
      ...["lifecycle-pos-wren", "lifecycle-ran-wren-draft", "runs", "status-moss.json"],
      "status-wren.json",
    ]);
    expect(fake.raw("lifecycle-pos-wren")).toBe("polish 0\n");

    const keeper = newsroom().up("", { isSingleton: true, graceMs: 0, staggerMs: 0 });
    await keeper.pass(0);
    await keeper.run("desk").end("done");
    expect(readdirSync(keeper.state).sort()).toEqual([
      ...["_steps.jsonl", "crew.json", "keeper-last-run", "runs", "status.json"],
    ]);
    const rem = newsroom();
    rem.files.writePosition("", "polish 0");
    rem.files.writeRan("", "polish", 1);
    expect(readdirSync(rem.state).sort()).toEqual(["lifecycle-pos", "lifecycle-ran-polish"]);
  });

  it("say when a tick began before the engine does, and not when it ends", async () => {
    const fake = solo();
    await fake.pass(0);
    const began = fake.world.clock.now();
    expect(fake.run("moss").lastRun).toBe(`${began}\n`);
    await fake.pass(5 * MINUTE);
    await fake.run("moss").end("done");
    expect(fake.raw("keeper-last-run-moss")).toBe(`${began}\n`);
    // The interval is from start to start.
    await fake.pass(5 * MINUTE - 1);
    expect(fake.countOf("moss")).toBe(1);
    await fake.pass(1);
    expect(fake.countOf("moss")).toBe(2);
  });

  it("are read anew at each tick: an edited def and an edited lifecycle need no restart", async () => {
    const fake = newsroom();
    fake.texts.set("/news/life.org", LIFECYCLE);
    fake.up(member("wren", "writer.org", ":LIFECYCLE: life.org\n:INTERVAL: 1m\n"), {
      graceMs: 0,
      staggerMs: 0,
    });
    await fake.pass(0);
    expect(fake.run("wren").hooks.prompt).toContain("You are the writer.");
    expect(fake.run("wren").hooks.prompt).toContain("LIFECYCLE: draft");
    fake.texts.set("/news/writer.org", "#+SHARED: laws.org\nYou are another.");
    fake.texts.set("/news/laws.org", "Never lie.");
    // The state it would go to is gone.
    fake.texts.set("/news/life.org", "#+START: nap\n* nap\n:PROPERTIES:\n:KIND: rem\n:END:\n");
    await fake.run("wren").end("done");
    await fake.pass(MINUTE);
    const { prompt, lifecycle } = fake.run("wren").hooks;
    expect(lifecycle).toBe("nap");
    expect(prompt).toContain("Never lie.");
    expect(prompt).toContain("what it did");
    expect(prompt).not.toContain("You are another.");
    expect(fake.status("wren").lifecycle).toBe("nap");
  });

  it("hold a lifecycle's position within its MIN-INTERVAL, and cost no slot and no run", async () => {
    const fake = newsroom();
    fake.texts.set("/news/life.org", "* nap\n:PROPERTIES:\n:MIN-INTERVAL: 45m\n:END:\n");
    fake.up(member("wren", "writer.org", ":LIFECYCLE: life.org\n:INTERVAL: 10m\n"), {
      graceMs: 0,
      staggerMs: 0,
    });
    await fake.pass(0);
    await fake.run("wren").end("done");
    await fake.pass(44 * MINUTE);
    expect(fake.countOf("wren")).toBe(1);
    await fake.pass(6 * MINUTE);
    expect(fake.countOf("wren")).toBe(2);
  });
});

describe("an outcome", () => {
  it("of no work backs off to half an hour, and real work ends that", async () => {
    const fake = solo(":INTERVAL: 90s\n");
    const waited: number[] = [];
    await fake.pass(0);
    for (const outcome of [...Array(7).fill("no_work"), "done", "no_work"] as const) {
      await fake.run("moss").end(outcome, "NO-WORK nothing");
      waited.push((fake.told("next").at(-1)?.after_ms ?? 0) / SECOND);
      await fake.pass((waited.at(-1) as number) * SECOND);
    }
    expect(waited).toEqual([90, 120, 240, 480, 960, 1800, 1800, 90, 90]);
    expect(fake.status("moss").streak).toBe(1);
  });

  it("of no work stays counted across a restart", async () => {
    const fake = solo(":INTERVAL: 1m\n");
    await fake.pass(0);
    for (let i = 0; i < 3; i++) {
      await fake.run("moss").end("no_work");
      await fake.pass(4 * MINUTE);
    }
    expect(fake.status("moss").streak).toBe(3);
    fake.up(member("moss", "moss.org", ":INTERVAL: 1m\n"), { graceMs: 0, staggerMs: 0 });
    await fake.pass(0);
    await fake.run("moss").end("no_work");
    expect(fake.told("next").at(-1)?.after_ms).toBe(8 * MINUTE);
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

  it.each(["failed", "killed"] as const)("%s is followed by the interval", async (outcome) => {
    const fake = solo();
    await fake.pass(0);
    await fake.run("moss").end(outcome, "why");
    expect(fake.status("moss")).toMatchObject({ state: "waiting", outcome, note: "why" });
    expect(fake.told("next").at(-1)?.after_ms).toBe(10 * MINUTE);
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
      const { after_ms = 0 } = fake.told("next").findLast(({ name }) => name === "moss") ?? {};
      waited.push(after_ms);
      await fake.pass(after_ms);
    }
    expect(waited.slice(0, 4)).toEqual([1, 2, 4, 8].map((n) => n * SECOND));
    expect(fake.countOf("moss")).toBe(5);
    expect(fake.status("moss")).toMatchObject({ state: "parked", next_tick: null, crashes: 5 });
    expect(fake.told("parked")[0]?.note).toContain("SIGSEGV");
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

describe("what has to be put right", () => {
  it("a def that is not there parks it, and the file brings it back", async () => {
    const fake = solo();
    fake.texts.delete("/news/moss.org");
    await fake.pass(0);
    expect(fake.status("moss")).toMatchObject({ state: "parked", crashes: 0, outcome: null });
    expect(fake.status("moss").note).toContain("/news/moss.org is not there");
    expect(existsSync(join(fake.state, "keeper-last-run-moss"))).toBe(false);
    await fake.pass(HOUR);
    expect(fake.told("parked")).toHaveLength(1);
    fake.texts.set("/news/moss.org", "You are moss.");
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["moss"]);
  });

  it("so does a shared file that is not there", async () => {
    const fake = solo();
    fake.texts.set("/news/moss.org", "#+SHARED: laws.org\nYou are moss.");
    await fake.pass(0);
    expect(fake.status("moss").note).toContain("/news/laws.org is not there");
    fake.texts.set("/news/laws.org", "Never lie.");
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["moss"]);
  });

  it("a lifecycle that leads nowhere parks it until it is corrected", async () => {
    const fake = newsroom();
    fake.texts.set("/news/life.org", "* a\n:PROPERTIES:\n:NEXT: b\n:END:\n");
    fake.up(member("wren", "writer.org", ":LIFECYCLE: life.org\n"), { graceMs: 0, staggerMs: 0 });
    await fake.pass(0);
    expect(fake.status("wren").note).toContain("points nowhere");
    fake.texts.set("/news/life.org", "* a\n:PROPERTIES:\n:NEXT: a\n:END:\n");
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["wren"]);
  });

  it.each([":INTERVAL: 0\n", ":INTERVAL: 5d\n", ":INTERVAL: -1\n", ":ENGINE: cloude\n"])(
    "%s parks it; neither resume nor a tick by hand runs it; its entry brings it back",
    async (bad) => {
      const fake = solo(bad);
      await fake.pass(2 * HOUR);
      expect(fake.status("moss").state).toBe("parked");
      expect(await fake.ask({ cmd: "resume", name: "moss" })).toMatchObject({ state: "parked" });
      expect(await fake.ask({ cmd: "tick", name: "moss" })).toMatchObject({
        ...{ ok: false, message: expect.stringContaining("moss is parked") },
      });
      expect(fake.runs).toEqual([]);
      fake.texts.set("/news/crew.org", member("moss", "moss.org", ":INTERVAL: 1m\n"));
      await fake.pass(2 * SECOND);
      expect(fake.running).toEqual(["moss"]);
    },
  );

  it("an entry that becomes wrong during a run parks it when that has ended", async () => {
    const fake = solo();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", member("moss", "moss.org", ":ENGINE: cloude\n"));
    await fake.pass(2 * SECOND);
    expect(fake.running).toEqual(["moss"]);
    await fake.run("moss").end("done");
    expect(fake.status("moss")).toMatchObject({ state: "parked", outcome: "done" });
  });
});

describe("the gate", () => {
  const FOUR = ["a", "b", "c", "d"].map((name) => member(name, "desk.org")).join("");

  it("lets two of four in, the others in their order", async () => {
    const fake = newsroom().up(FOUR, { graceMs: 0, staggerMs: 10 });
    await fake.pass(30);
    expect(fake.running).toEqual(["a", "b"]);
    expect(fake.status("c").state).toBe("queued");
    expect(existsSync(join(fake.state, "keeper-last-run-c"))).toBe(false);
    await fake.pass(100);
    expect(JSON.parse(fake.raw("gate.json"))).toMatchObject({
      ...{ max: 2, holders: [{ name: "a" }, { name: "b" }] },
      queue: [{ name: "c" }, { name: "d" }],
    });
    await fake.run("b").end("done");
    expect(fake.running).toEqual(["a", "c"]);
    await fake.run("a").end("done");
    expect(fake.running).toEqual(["c", "d"]);
  });

  it("gets its slot back from a run that throws, and from one whose end cannot be written", async () => {
    const fake = newsroom().up(FOUR, { graceMs: 0, staggerMs: 10, max: 1 });
    await fake.pass(30);
    await fake.run("a").throw(new Error("boom"));
    expect(fake.running).toEqual(["b"]);
    expect(fake.status("a")).toMatchObject({ state: "backing_off", note: "boom", run: null });
    fake.broken = (_, name) => name === "b" || typeof name === "object";
    await fake.run("b").end("done");
    fake.broken = undefined;
    expect(fake.running).toEqual(["c"]);
    expect(fake.gate?.view().holders.map(({ name }) => name)).toEqual(["c"]);
  });

  it("lets those of high priority in first", async () => {
    const fake = newsroom().up(
      member("a", "desk.org") +
        member("b", "desk.org", ":PRIORITY: low\n") +
        member("c", "desk.org") +
        member("d", "desk.org", ":PRIORITY: high\n"),
      { graceMs: 0, staggerMs: 10, max: 1 },
    );
    await fake.pass(30);
    for (const name of ["a", "d", "c", "b"]) {
      expect(fake.running).toEqual([name]);
      await fake.run(name).end("done");
    }
  });

  it("gets another maximum while it runs, and no maximum that makes no sense", async () => {
    const fake = newsroom().up(FOUR, { graceMs: 0, staggerMs: 10, max: 1 });
    await fake.pass(30);
    for (const max of [0, -1, 1.5, "3", null]) {
      expect(await fake.ask({ max })).toMatchObject({ ok: false });
      expect(fake.running).toEqual(["a"]);
    }
    expect(await fake.ask({ max: 3 })).toEqual({ ok: true });
    expect(fake.running).toEqual(["a", "b", "c"]);
    await fake.pass(100);
    expect(JSON.parse(fake.raw("gate.json")).max).toBe(3);
    await fake.ask({ max: 1 });
    await fake.run("a").end("done");
    await fake.run("b").end("done");
    expect(fake.running).toEqual(["c"]);
    await fake.run("c").end("done");
    expect(fake.running).toEqual(["d"]);
  });

  it("is nothing for the singleton", async () => {
    const fake = newsroom().up("", { isSingleton: true, graceMs: 0, staggerMs: 0 });
    await fake.pass(0);
    expect(fake.running).toEqual(["desk"]);
    expect(existsSync(join(fake.state, "gate.json"))).toBe(false);
    expect(await fake.ask({ max: 3 })).toMatchObject({ ok: false });
  });

  it("is left by one that is paused or removed while it waits", async () => {
    const fake = newsroom().up(FOUR, { graceMs: 0, staggerMs: 10, max: 1 });
    await fake.pass(30);
    expect(await fake.ask({ cmd: "pause", name: "b" })).toMatchObject({ ok: true });
    fake.texts.set(
      "/news/crew.org",
      member("a", "desk.org") + member("b", "desk.org") + member("d", "desk.org"),
    );
    await fake.pass(2 * SECOND);
    expect(fake.gate?.view().queue.map(({ name }) => name)).toEqual(["d"]);
    expect(fake.status("b").state).toBe("paused");
    expect(fake.status("c").state).toBe("stopped");
    await fake.run("a").end("done");
    expect(fake.running).toEqual(["d"]);
    expect(fake.told("trouble")).toEqual([]);
  });
});

describe("RUN-IF", () => {
  it("that says no costs no engine, no slot and no last run, and is counted", async () => {
    const fake = solo(":RUN-IF: test -e inbox\n:INTERVAL: 10m\n");
    fake.due = () => false;
    await fake.pass(30 * MINUTE);
    expect(fake.asked).toHaveLength(4);
    expect(fake.runs).toEqual([]);
    expect(fake.status("moss")).toMatchObject({ state: "waiting", saved: 4, outcome: null });
    expect(fake.status("moss").note).toBe("nothing new");
    expect(fake.told("saved").at(-1)).toMatchObject({ saved: 4, note: "nothing new" });
    expect(existsSync(join(fake.state, "keeper-last-run-moss"))).toBe(false);
    expect(fake.gate?.view()).toMatchObject({ holders: [], queue: [] });
    fake.due = () => true;
    await fake.pass(10 * MINUTE);
    expect(fake.running).toEqual(["moss"]);
    // It stays counted.
    fake.up(member("moss", "moss.org"));
    expect(fake.status("moss").saved).toBe(4);
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

  it("that says no is no answer to who asks for a tick: that comes after it", async () => {
    const fake = solo(":RUN-IF: sleep 50\n");
    let answer: (due: boolean) => void = () => {};
    fake.due = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
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
    let answer: (due: boolean) => void = () => {};
    fake.due = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
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
    await fake.pass(MINUTE);
    await fake.run("moss").hold("the budget of the day is used up", null, 0.5);
    expect(fake.status("moss")).toMatchObject({
      ...{ state: "held", cost_today: 1.25, streak: 1, crashes: 0, outcome: "no_work", run: null },
    });
    await fake.run("wren").end("done");
    await fake.pass(10 * MINUTE);
    expect(fake.countOf("moss")).toBe(2);
    expect(fake.countOf("wren")).toBe(3);
    // Told when it changes, and not at each look.
    expect(fake.told("held").map(({ note }) => note)).toEqual([
      "the budget of the day is used up",
      "its $1 of today are used up",
    ]);
    await fake.pass(midnight - fake.world.clock.now() + MINUTE);
    expect(fake.countOf("moss")).toBe(3);
    expect(fake.run("moss").hooks.costToday).toBe(0);
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

describe("supervision", () => {
  it("goes on for the others when the files of one cannot be written or read", async () => {
    const fake = newsroom();
    fake.broken = (_, name) => name === "moss" || (name as { agent?: string })?.agent === "moss";
    fake.up(NEWSROOM, { graceMs: 0, staggerMs: 0, max: 4 });
    await fake.pass(0);
    expect(fake.running).toEqual(["desk", "wren", "hale"]);
    expect(fake.told("trouble").every(({ name }) => name === "moss")).toBe(true);
    // Its clock goes on: with the disk, it does.
    fake.broken = undefined;
    await fake.pass(15 * MINUTE);
    expect(fake.running).toContain("moss");
  });

  it("loses no outcome, no slot and no lifecycle to a disk that is full for a while", async () => {
    const fake = newsroom();
    fake.texts.set("/news/life.org", "* a\n:PROPERTIES:\n:NEXT: b\n:END:\n* b\n");
    fake.up(member("wren", "writer.org", ":LIFECYCLE: life.org\n:INTERVAL: 1m\n"), {
      graceMs: 0,
      staggerMs: 0,
    });
    await fake.pass(0);
    fake.broken = (method) => ["append", "writeStatus", "writePosition"].includes(method);
    const { hooks } = fake.run("wren");
    hooks.onLine({ thought: "hm", ts: 1, agent: "wren" });
    await fake.run("wren").end("no_work");
    fake.broken = undefined;
    await fake.pass(MINUTE);
    expect(fake.countOf("wren")).toBe(2);
    expect(fake.status("wren")).toMatchObject({ outcome: "no_work", streak: 1 });
    expect(fake.told("trouble").length).toBeGreaterThanOrEqual(3);
  });

  it("answers no request that it cannot, and survives that", async () => {
    const fake = solo();
    await fake.pass(0);
    fake.broken = (method) => method === "answer";
    await fake.ask({ cmd: "pause", name: "moss" });
    await fake.ask({ cmd: "tick", name: "nobody" });
    fake.broken = undefined;
    expect(await fake.ask({ cmd: "tick", name: "mos" })).toMatchObject({
      ...{ ok: false, message: expect.stringContaining("did you mean moss?") },
    });
    expect(await fake.ask({ cmd: "dance", name: "moss" })).toMatchObject({ ok: false });
    for (const odd of ["[]", "7", "null", "{", ""]) {
      writeFileSync(join(fake.state, "inbox", "odd.json"), odd);
      await fake.pass(SECOND);
    }
    expect(fake.running).toEqual(["moss"]);
  });

  it("ends what a supervisor that died has left, of this boot only, and drops what was asked of it", async () => {
    const fake = newsroom().up(NEWSROOM, { graceMs: 0, staggerMs: 0, max: 4 });
    await fake.pass(0);
    const tree = { host: "fake", boot: "boot-1", pid: 7, started: "s7", claim: "mark-moss" };
    fake.run("moss").hooks.onProcess(tree);
    fake.run("wren").hooks.onProcess({ ...tree, boot: "boot-0", claim: "mark-wren" });
    fake.run("hale").hooks.onProcess({ ...tree, host: "other", claim: "mark-hale" });
    fake.files.leaveRequest("old", { cmd: "stop" });
    fake.files.answer("nobody", {});
    writeFileSync(join(fake.state, ".status-moss.json.77.3"), "{");
    // kill -9: nothing of it is told to stop.
    fake.runs.length = 0;
    fake.up(NEWSROOM, { max: 4 });
    expect(fake.ended).toEqual(["mark-moss"]);
    expect(fake.told("leftover")).toMatchObject([{ name: "moss", pid: 7, survivors: [] }]);
    for (const name of ["desk", "moss", "wren", "hale"]) expect(fake.status(name).run).toBe(null);
    await fake.pass(HOUR);
    expect(fake.runs).toHaveLength(4);
    expect(readdirSync(fake.state).filter((file) => file.startsWith("."))).toEqual([]);
    expect(readdirSync(join(fake.state, "outbox"))).toEqual([]);
  });

  it("starts also when a status is nonsense", async () => {
    const fake = newsroom();
    fake.up(NEWSROOM);
    const path = join(fake.state, "status-moss.json");
    for (const text of [
      "{",
      "[]",
      JSON.stringify({
        ...fake.status("desk"),
        name: "moss",
        streak: "x",
        cost_today: "1",
        saved: -1,
      }),
      JSON.stringify({ ...fake.status("desk"), name: "moss", run: 5 }),
    ]) {
      writeFileSync(path, text);
      fake.up(NEWSROOM);
      expect(fake.status("moss")).toMatchObject({ streak: 0, cost_today: 0, saved: 0, run: null });
    }
  });

  it("is refused where another has the state, and says who", async () => {
    const fake = newsroom().up(NEWSROOM);
    const { pid } = JSON.parse(fake.raw("crew.json"));
    fake.isTaken = true;
    expect(() => fake.up(NEWSROOM)).toThrow(`(pid ${pid})`);
  });

  it("needs at least one member that has a def", () => {
    const fake = newsroom();
    expect(() => fake.up("* moss\n* wren\n")).toThrow("has no member with a def");
  });

  it("lets runs finish when it is stopped, and ends them when it is to stop now", async () => {
    const fake = newsroom().up(NEWSROOM, { graceMs: 0, staggerMs: 0, max: 1 });
    await fake.pass(0);
    let isOver = false;
    const stopped = fake.crew.stop().then(() => {
      isOver = true;
    });
    await settled();
    expect(fake.told("stopping")).toEqual([{ kind: "stopping", running: ["desk"] }]);
    expect(fake.status("moss").state).toBe("stopped");
    expect([isOver, fake.running]).toEqual([false, ["desk"]]);
    await fake.crew.stopNow();
    await stopped;
    expect(fake.status("desk")).toMatchObject({ state: "stopped", outcome: "killed" });
    await fake.pass(24 * HOUR);
    expect(fake.runs).toHaveLength(1);
    expect(fake.pending).toBe(0);
  });

  it("has nothing to begin when it was stopped before", async () => {
    const fake = newsroom().up(NEWSROOM);
    await fake.crew.stop();
    fake.crew.begin();
    expect(fake.pending).toBe(0);
  });
});

describe("a manifest that changes", () => {
  const A = member("a", "desk.org", ":INTERVAL: 1m\n");
  const B = member("b", "desk.org", ":INTERVAL: 1m\n");
  const at = (fake: FakeCrew) => JSON.parse(fake.raw("crew.json")).members;
  const start = () => newsroom().up(A + B, { graceMs: 0, staggerMs: 0, max: 9 });

  it("adds a member, after the grace, and shows it", async () => {
    const fake = newsroom().up(A, { graceMs: 5 * SECOND, staggerMs: MINUTE, max: 9 });
    fake.texts.set("/news/crew.org", A + B);
    await fake.pass(2 * SECOND);
    expect(fake.told("added")).toMatchObject([{ name: "b" }]);
    expect(at(fake)).toEqual(["a", "b"]);
    await fake.pass(5 * SECOND);
    expect(fake.countOf("b")).toBe(1);
  });

  it("removes a member, whose run may finish, and does not wait for it to go on", async () => {
    const fake = start();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", A);
    await fake.pass(2 * SECOND);
    expect(fake.told("removed")).toMatchObject([{ name: "b", note: "its run may finish" }]);
    expect(fake.running).toEqual(["a", "b"]);
    expect(at(fake)).toEqual(["a"]);
    await fake.run("a").end("done");
    await fake.run("b").end("done");
    await fake.pass(10 * MINUTE);
    expect(fake.countOf("b")).toBe(1);
    expect(fake.status("b").state).toBe("stopped");
    expect(fake.countOf("a")).toBe(2);
  });

  it("waits for the run of one that was removed, also when it ends at once", async () => {
    const fake = start();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", A);
    await fake.pass(2 * SECOND);
    await fake.run("a").end("done");
    let isOver = false;
    const stopped = fake.crew.stop().then(() => {
      isOver = true;
    });
    await settled();
    expect(isOver).toBe(false);
    await fake.crew.stopNow();
    await stopped;
    expect(fake.running).toEqual([]);
  });

  it("that takes one out and in again never runs it twice at a time", async () => {
    const fake = start();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", A);
    await fake.pass(2 * SECOND);
    fake.texts.set("/news/crew.org", A + B);
    await fake.pass(10 * MINUTE);
    expect(fake.countOf("b")).toBe(1);
    await fake.run("b").end("done");
    await fake.pass(MINUTE);
    expect(fake.countOf("b")).toBe(2);
    expect(fake.status("b").state).toBe("running");
  });

  it("changes an interval, counted from the last run", async () => {
    const fake = start();
    await fake.pass(0);
    await fake.run("a").end("done");
    fake.texts.set("/news/crew.org", member("a", "desk.org", ":INTERVAL: 10m\n") + B);
    await fake.pass(10 * MINUTE - 1);
    expect(fake.countOf("a")).toBe(1);
    expect(fake.told("changed")).toMatchObject([{ name: "a" }]);
    await fake.pass(1);
    expect(fake.countOf("a")).toBe(2);
  });

  it("that only moves lines changes nobody", async () => {
    const fake = start();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", `# a comment\n\n${B}${A}`);
    await fake.pass(2 * SECOND);
    expect(fake.told("changed")).toEqual([]);
    expect(fake.running).toEqual(["a", "b"]);
  });

  it.each([
    ["is empty", ""],
    ["has only lost all its defs", "* a\n* b\n"],
    ["is in conflict", `<<<<<<< HEAD\n${A}=======\n${B}>>>>>>> other\n`],
    ["is gone", undefined],
  ])("and %s leaves the crew as it was", async (_, text) => {
    const fake = start();
    await fake.pass(0);
    if (text === undefined) fake.texts.delete("/news/crew.org");
    else fake.texts.set("/news/crew.org", text);
    await fake.pass(10 * SECOND);
    expect(fake.told("trouble")).toMatchObject([
      { name: "crew", message: expect.stringContaining("cannot be used as it is now") },
    ]);
    for (const run of fake.runs) await run.end("done");
    await fake.pass(MINUTE);
    expect(fake.running).toEqual(["a", "b"]);
    expect(fake.told("removed")).toEqual([]);
    fake.texts.set("/news/crew.org", A);
    await fake.pass(2 * SECOND);
    expect(fake.told("removed")).toMatchObject([{ name: "b" }]);
  });

  it("is not read while it is being written", async () => {
    const fake = start();
    await fake.pass(0);
    const whole = A + B;
    for (let length = 0; length < A.length; length++) {
      fake.texts.set("/news/crew.org", whole.slice(0, length));
      await fake.pass(50); // less than it takes to settle
    }
    fake.texts.set("/news/crew.org", whole);
    await fake.pass(5 * SECOND);
    expect(fake.told("removed")).toEqual([]);
    expect(fake.told("trouble")).toEqual([]);
  });
});

describe("by hand", () => {
  it("a tick joins one that is under way, and says how it ended", async () => {
    const fake = solo();
    await fake.pass(0);
    fake.files.leaveRequest("t", { cmd: "tick", name: "moss" });
    await fake.pass(SECOND);
    expect(fake.files.takeAnswer("t")).toBe(null);
    await fake.run("moss").end("failed", "it exited with 1");
    expect(fake.files.takeAnswer("t")).toMatchObject({
      ...{ ok: true, outcome: "failed", note: "it exited with 1" },
    });
    expect(fake.countOf("moss")).toBe(1);
  });

  it("a pause lets the run finish, outlives a restart, and ends with resume", async () => {
    const fake = solo();
    await fake.pass(0);
    await fake.ask({ cmd: "pause", name: "moss" });
    expect(fake.running).toEqual(["moss"]);
    await fake.run("moss").end("done");
    expect(fake.status("moss")).toMatchObject({ state: "paused", next_tick: null });
    await fake.pass(HOUR);
    expect(fake.countOf("moss")).toBe(1);
    await fake.crew.stop();
    fake.up(member("moss", "moss.org", ":INTERVAL: 10m\n"), { graceMs: 0, staggerMs: 0 });
    await fake.pass(HOUR);
    expect(fake.countOf("moss")).toBe(1);
    expect(fake.status("moss").state).toBe("paused");
    // Also when its entry changes.
    fake.texts.set("/news/crew.org", member("moss", "moss.org", ":INTERVAL: 1m\n"));
    await fake.pass(HOUR);
    expect(fake.countOf("moss")).toBe(1);
    expect(await fake.ask({ cmd: "resume", name: "moss" })).toMatchObject({ ok: true });
    await fake.pass(0);
    expect(fake.countOf("moss")).toBe(2);
  });

  it("a tick of one that is paused leaves it paused, whatever comes of it", async () => {
    const fake = solo();
    fake.files.setPaused("moss", true);
    await fake.pass(0);
    await fake.run("moss").end("done"); // its timer was set before
    for (const outcome of ["done", "crashed", "no_work"] as const) {
      fake.files.leaveRequest("t", { cmd: "tick", name: "moss" });
      await fake.pass(SECOND);
      await fake.run("moss").end(outcome);
      expect(fake.status("moss").state).toBe("paused");
    }
    fake.held = () => ({ note: "closed", until: null });
    await fake.ask({ cmd: "tick", name: "moss" });
    expect(fake.status("moss").state).toBe("paused");
    await fake.pass(HOUR);
    expect(fake.countOf("moss")).toBe(4);
  });

  it("stop is the end of all", async () => {
    const fake = newsroom().up(NEWSROOM);
    expect(await fake.ask({ cmd: "stop" })).toEqual({ ok: true });
    await fake.pass(HOUR);
    expect(fake.runs).toEqual([]);
    expect(fake.pending).toBe(0);
  });

  it("a tick alone runs that member, and no other's clock", async () => {
    const fake = newsroom();
    const ticked = fake.make(NEWSROOM).tickAlone("moss");
    await fake.pass(24 * HOUR);
    expect(fake.running).toEqual(["moss"]);
    await fake.run("moss").end("done", "found three");
    expect(await ticked).toEqual({ outcome: "done", note: "found three" });
    await fake.pass(24 * HOUR);
    expect(fake.pending).toBe(0);
    expect(fake.runs).toHaveLength(1);
    expect(existsSync(join(fake.state, "crew.json"))).toBe(false);
    await expect(fake.make(NEWSROOM).tickAlone("mos")).rejects.toThrow("did you mean moss?");
  });

  it("a tick alone of one that is parked says why it did not run", async () => {
    const fake = newsroom();
    const ticked = fake.make(member("moss", "nowhere.org")).tickAlone("moss");
    expect(await ticked).toMatchObject({
      ...{ outcome: null, note: expect.stringContaining("is not there") },
    });
    const bad = fake.make(member("moss", "desk.org", ":INTERVAL: 0\n")).tickAlone("moss");
    await expect(bad).rejects.toThrow("moss is parked");
  });
});

describe("what is shown", () => {
  it("is small and whole while a run is under way, with its last thought", async () => {
    const fake = solo();
    await fake.pass(0);
    const { hooks } = fake.run("moss");
    hooks.onProcess({ host: "fake", boot: "boot-1", pid: 9, started: "s9", claim: "m" });
    for (let i = 0; i < 50; i++) {
      hooks.onLine({ tool: "fetch", target: `https://arxiv.org/${i}`, ts: i, agent: "moss" });
      hooks.onLine({ thought: `reading ${i}`, ts: i, agent: "moss" });
    }
    expect(fake.status("moss")).toMatchObject({
      ...{ state: "running", thought: "reading 49", run: { pid: 9, claim: "m" }, next_tick: null },
    });
    expect(fake.raw("status-moss.json").length).toBeLessThan(1_000);
    expect(fake.files.lastLines(3)).toEqual([
      { thought: "reading 48", ts: 48, agent: "moss" },
      { tool: "fetch", target: "https://arxiv.org/49", ts: 49, agent: "moss" },
      { thought: "reading 49", ts: 49, agent: "moss" },
    ]);
    await fake.run("moss").end("done", "found three", 0.02);
    expect(fake.files.lastLines(1)).toEqual([
      {
        ...{ run: "done", ts: Math.floor(fake.world.clock.now() / 1000), agent: "moss" },
        ...{ seconds: 0, usd: 0.02, note: "found three" },
      },
    ]);
    expect(fake.status("moss")).toMatchObject({ state: "waiting", run: null, cost_today: 0.02 });
  });
});
