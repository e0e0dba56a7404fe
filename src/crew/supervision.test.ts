import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  HOUR,
  MINUTE,
  member,
  NEWSROOM,
  newsroom,
  SECOND,
  solo,
} from "../../test/support/crew-scenes.ts";
import { settled } from "../../test/support/up-host.ts";

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

  it("gets its slot back from a run that throws, and after an end that cannot be written", async () => {
    const fake = newsroom().up(FOUR, { graceMs: 0, staggerMs: 10, max: 1 });
    await fake.pass(30);
    await fake.run("a").throw(new Error("boom"));
    expect(fake.running).toEqual(["b"]);
    expect(fake.status("a")).toMatchObject({ state: "waiting", note: "boom", run: null });
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

  it("is shown when its maximum changes while it is empty", async () => {
    const fake = newsroom().up(member("a", "desk.org"), { graceMs: HOUR, staggerMs: 0, max: 1 });
    await fake.ask({ max: 5 });
    await fake.pass(100);
    expect(JSON.parse(fake.raw("gate.json"))).toMatchObject({ max: 5, holders: [] });
  });

  it("is shown once it is empty, not after each run", async () => {
    const fake = newsroom().up(member("a", "desk.org"), { graceMs: 0, staggerMs: 0 });
    await fake.pass(100);
    expect(JSON.parse(fake.raw("gate.json")).holders).toMatchObject([{ name: "a" }]);
    await fake.run("a").end("done");
    await fake.pass(100);
    expect(JSON.parse(fake.raw("gate.json")).holders).toEqual([]);
    const before = fake.pending;
    (await fake.gate?.acquire({ name: "b" }))?.();
    expect(fake.pending).toBe(before);
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
    const paused = { ok: true, state: "paused" };
    expect(await fake.ask({ cmd: "pause", name: "b" })).toMatchObject(paused);
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
    expect(fake.emitted("trouble")).toEqual([]);
  });
});

describe("supervision", () => {
  it("goes on for the others when the files of one cannot be written or read", async () => {
    const fake = newsroom();
    fake.broken = (_, name) => name === "moss" || (name as { agent?: string })?.agent === "moss";
    fake.up(NEWSROOM, { graceMs: 0, staggerMs: 0, max: 4 });
    await fake.pass(0);
    expect(fake.running).toEqual(["desk", "wren", "hale"]);
    expect(fake.emitted("trouble").every(({ name }) => name === "moss")).toBe(true);
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
    await fake.pass(2 * MINUTE);
    expect(fake.countOf("wren")).toBe(2);
    expect(fake.status("wren")).toMatchObject({ outcome: "no_work", streak: 1 });
    expect(fake.emitted("trouble").length).toBeGreaterThanOrEqual(3);
  });

  it("shows how a run ended as soon as the disk takes it, and not at the next tick", async () => {
    const fake = solo(":INTERVAL: 1h\n");
    await fake.pass(0);
    fake.broken = (method) => method === "writeStatus";
    await fake.run("moss").end("done", "found three");
    await fake.pass(10 * MINUTE);
    expect(fake.status("moss").state).toBe("running");
    expect(fake.emitted("trouble")).toHaveLength(1);
    fake.broken = undefined;
    await fake.pass(MINUTE);
    expect(fake.status("moss")).toMatchObject({ state: "waiting", note: "found three", run: null });
    // Nothing is tried again when there is nothing left to do.
    fake.broken = (method) => method === "writeStatus";
    await fake.crew.stop();
    expect(fake.pending).toBe(0);
  });

  it("stops when its state folder is removed, ends its runs, and writes nothing there", async () => {
    const fake = newsroom();
    const ran = fake.make(NEWSROOM, { graceMs: 0, staggerMs: 0 }).run();
    const said = expect(ran).rejects.toThrow(`${fake.state} was removed or replaced`);
    await fake.pass(0);
    expect(fake.running).toEqual(["desk", "moss"]);
    rmSync(fake.state, { recursive: true });
    fake.isRemoved = true;
    await fake.pass(SECOND);
    await said;
    expect(fake.running).toEqual([]);
    expect(fake.emitted("ran")).toMatchObject([{ outcome: "killed" }, { outcome: "killed" }]);
    await fake.pass(SECOND);
    expect(existsSync(fake.state)).toBe(false);
    expect(fake.pending).toBe(0);
  });

  it("removes answers after ten minutes", async () => {
    const fake = newsroom().up(NEWSROOM);
    const outbox = join(fake.state, "outbox");
    const answered = (id: string, agoMs: number) => {
      fake.files.answer(id, {});
      const at = (fake.world.clock.now() - agoMs) / 1000;
      utimesSync(join(outbox, `${id}.json`), at, at);
    };
    answered("old", 0);
    await fake.pass(9 * MINUTE);
    answered("new", 0);
    expect(readdirSync(outbox).sort()).toEqual(["new.json", "old.json"]);
    await fake.pass(2 * MINUTE);
    expect(readdirSync(outbox)).toEqual(["new.json"]);
    await fake.pass(20 * MINUTE);
    expect(readdirSync(outbox)).toEqual([]);
  });

  it("answers no request that it cannot, and survives that", async () => {
    const fake = solo();
    await fake.pass(0);
    fake.broken = (method) => method === "answer";
    await fake.ask({ cmd: "pause", name: "moss" });
    await fake.ask({ cmd: "tick", name: "stranger" });
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

  it("ends the runs of a dead supervisor, of this boot only, and drops its requests", async () => {
    const fake = newsroom().up(NEWSROOM, { graceMs: 0, staggerMs: 0, max: 4 });
    await fake.pass(0);
    const tree = { host: "fake", boot: "boot-1", pid: 7, started: "s7", claim: "mark-moss" };
    fake.run("moss").hooks.onProcess(tree);
    fake.run("wren").hooks.onProcess({ ...tree, boot: "boot-0", claim: "mark-wren" });
    fake.run("hale").hooks.onProcess({ ...tree, host: "other", claim: "mark-hale" });
    fake.files.leaveRequest("old", { cmd: "stop" });
    fake.files.answer("stranger", {});
    writeFileSync(join(fake.state, ".status-moss.json.0123abcd"), "{");
    // kill -9: nothing of it is stopped.
    fake.runs.length = 0;
    fake.up(NEWSROOM, { max: 4 });
    await settled();
    expect(fake.ended).toEqual(["mark-moss"]);
    expect(fake.emitted("leftover")).toMatchObject([{ name: "moss", pid: 7, survivors: [] }]);
    for (const name of ["desk", "moss", "wren", "hale"]) expect(fake.status(name).run).toBe(null);
    await fake.pass(HOUR);
    expect(fake.runs).toHaveLength(4);
    expect(readdirSync(fake.state).filter((file) => file.startsWith("."))).toEqual([".lock"]);
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

  it("is refused where another has the state, and names it", async () => {
    const fake = newsroom().up(NEWSROOM);
    const { pid } = JSON.parse(fake.raw("crew.json"));
    fake.isTaken = true;
    expect(() => fake.up(NEWSROOM)).toThrow(`a crew runs already`);
    expect(() => fake.up(NEWSROOM)).toThrow(`(pid ${pid})`);
  });

  it("needs at least one member that has a def", async () => {
    const crew = newsroom().make("* moss\n* wren\n");
    await expect(crew.run()).rejects.toThrow("has no member with a def");
  });

  it("lets runs finish when it is stopped, and ends them when it is to stop now", async () => {
    const fake = newsroom().up(NEWSROOM, { graceMs: 0, staggerMs: 0, max: 1 });
    await fake.pass(0);
    let isOver = false;
    const stopped = fake.crew.stop().then(() => {
      isOver = true;
    });
    await settled();
    expect(fake.emitted("stopping")).toEqual([{ kind: "stopping", running: ["desk"] }]);
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
    await fake.crew.begin();
    expect(fake.pending).toBe(0);
  });
});
