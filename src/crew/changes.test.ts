import { existsSync } from "node:fs";
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
import { settled } from "../../test/support/up-host.ts";

describe("a manifest that changes", () => {
  const A = member("a", "desk.org", ":INTERVAL: 1m\n");
  const B = member("b", "desk.org", ":INTERVAL: 1m\n");
  const at = (fake: FakeCrew) => JSON.parse(fake.raw("crew.json")).members;
  const start = () => newsroom().up(A + B, { graceMs: 0, staggerMs: 0, max: 9 });

  it("adds a member, after the grace, and shows it", async () => {
    const fake = newsroom().up(A, { graceMs: 5 * SECOND, staggerMs: MINUTE, max: 9 });
    fake.texts.set("/news/crew.org", A + B);
    await fake.pass(2 * SECOND);
    expect(fake.emitted("added")).toMatchObject([{ name: "b" }]);
    expect(at(fake)).toEqual(["a", "b"]);
    await fake.pass(5 * SECOND);
    expect(fake.countOf("b")).toBe(1);
  });

  it("removes a member without waiting; its run may finish", async () => {
    const fake = start();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", A);
    await fake.pass(2 * SECOND);
    expect(fake.emitted("removed")).toMatchObject([{ name: "b", note: "its run may finish" }]);
    expect(fake.running).toEqual(["a", "b"]);
    expect(at(fake)).toEqual(["a", "b"]); // it is seen as long as it runs
    await fake.run("a").end("done");
    await fake.run("b").end("done");
    expect(at(fake)).toEqual(["a"]);
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
    expect(fake.emitted("changed")).toMatchObject([{ name: "a" }]);
    await fake.pass(1);
    expect(fake.countOf("a")).toBe(2);
  });

  it("that only moves lines changes no member", async () => {
    const fake = start();
    await fake.pass(0);
    fake.texts.set("/news/crew.org", `# a comment\n\n${B}${A}`);
    await fake.pass(2 * SECOND);
    expect(fake.emitted("changed")).toEqual([]);
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
    expect(fake.emitted("trouble")).toMatchObject([
      { name: "crew", message: expect.stringContaining("cannot be used as it is now") },
    ]);
    for (const run of fake.runs) await run.end("done");
    await fake.pass(MINUTE);
    expect(fake.running).toEqual(["a", "b"]);
    expect(fake.emitted("removed")).toEqual([]);
    fake.texts.set("/news/crew.org", A);
    await fake.pass(2 * SECOND);
    expect(fake.emitted("removed")).toMatchObject([{ name: "b" }]);
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
    expect(fake.emitted("removed")).toEqual([]);
    expect(fake.emitted("trouble")).toEqual([]);
  });
});

describe("by hand", () => {
  it("a tick alone locks the state folder, and another crew is refused with its pid", async () => {
    const fake = newsroom();
    const ticked = fake.make(NEWSROOM).tickAlone("moss");
    await fake.pass(0);
    const { pid } = JSON.parse(fake.raw(".lock"));
    fake.isTaken = true;
    const holder = `viv crew tick moss (pid ${pid}) holds ${fake.state} until its tick ends`;
    await expect(fake.make(NEWSROOM).take()).rejects.toThrow(holder);
    await fake.run("moss").end("done");
    await ticked;
  });

  it("a tick joins one that is under way, and reports its outcome", async () => {
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

  it("stopped before it has the state folder, it leaves the files of the crew there alone", async () => {
    const fake = newsroom().up(NEWSROOM);
    const files = () => ["crew.json", "gate.json", ".lock"].map((file) => fake.raw(file));
    const before = files();
    fake.isTaken = true;
    const second = fake.make(NEWSROOM, { max: 7 });
    const running = second.run();
    await second.stop();
    await expect(running).rejects.toThrow("runs already");
    expect(files()).toEqual(before);
  });

  it("a tick alone that is stopped before it has the state folder does not begin", async () => {
    const fake = newsroom();
    const crew = fake.make(NEWSROOM);
    const ticked = crew.tickAlone("moss");
    await crew.stop();
    await fake.pass(0);
    expect(fake.runs).toEqual([]);
    expect(await ticked).toMatchObject({ outcome: null });
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
    expect(await ticked).toMatchObject({ outcome: "done", note: "found three" });
    await fake.pass(24 * HOUR);
    expect(fake.pending).toBe(0);
    expect(fake.runs).toHaveLength(1);
    expect(existsSync(join(fake.state, "crew.json"))).toBe(false);
    await expect(fake.make(NEWSROOM).tickAlone("mos")).rejects.toThrow("did you mean moss?");
  });

  it("a tick alone of a parked member reports why it did not run", async () => {
    const fake = newsroom();
    const ticked = fake.make(member("moss", "nowhere.org")).tickAlone("moss");
    expect(await ticked).toMatchObject({
      ...{ outcome: null, state: "parked", note: expect.stringContaining("is not there") },
    });
    const bad = fake.make(member("moss", "desk.org", ":INTERVAL: 0\n")).tickAlone("moss");
    await expect(bad).rejects.toThrow("moss is parked");
  });
});
