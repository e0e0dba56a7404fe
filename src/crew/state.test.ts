import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HOUR, MINUTE, member, newsroom, SECOND, solo } from "../../test/support/crew-scenes.ts";

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
    const names = readdirSync(fake.state).filter(
      (file) => !["inbox", "outbox", ".lock"].includes(file),
    );
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
      ...[".lock", "_steps.jsonl", "crew.json", "keeper-last-run", "runs", "status.json"],
    ]);
    const rem = newsroom();
    rem.files.writePosition("", "polish 0");
    rem.files.writeRan("", "polish", 1);
    expect(readdirSync(rem.state).sort()).toEqual(["lifecycle-pos", "lifecycle-ran-polish"]);
  });

  it("hold the start of a tick before the engine begins, not its end", async () => {
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

describe("a mistake to correct", () => {
  it("a def that is not there parks it, and the file brings it back", async () => {
    const fake = solo();
    fake.texts.delete("/news/moss.org");
    await fake.pass(0);
    expect(fake.status("moss")).toMatchObject({ state: "parked", crashes: 0, outcome: null });
    expect(fake.status("moss").note).toContain("/news/moss.org is not there");
    expect(existsSync(join(fake.state, "keeper-last-run-moss"))).toBe(false);
    await fake.pass(HOUR);
    expect(fake.emitted("parked")).toHaveLength(1);
    fake.texts.set("/news/moss.org", "You are moss.");
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["moss"]);
  });

  it("a def that is missing at the start is reported at once, not when its turn comes", async () => {
    const fake = newsroom();
    fake.up(member("moss", "nowhere.org") + member("wren", "writer.org"));
    expect(fake.emitted("parked")).toMatchObject([
      { name: "moss", note: "its def /news/nowhere.org is not there" },
    ]);
    expect(fake.emitted("next").map(({ name }) => name)).toEqual(["wren"]);
    expect(fake.status("moss").state).toBe("parked");
    fake.texts.set("/news/nowhere.org", "You are moss.");
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["moss"]);
  });

  it("so is one of an entry that was changed", async () => {
    const fake = solo();
    await fake.pass(0);
    await fake.run("moss").end("done");
    fake.texts.set("/news/crew.org", member("moss", "nowhere.org", ":INTERVAL: 10m\n"));
    await fake.pass(2 * SECOND);
    expect(fake.status("moss")).toMatchObject({ state: "parked" });
  });

  it("two members that would share a lifecycle file: the second is parked, and names the first", async () => {
    const fake = newsroom();
    fake.texts.set("/news/one.org", "* b-x\n* wake\n");
    fake.texts.set("/news/two.org", "* x\n");
    const life = (file: string) => `:LIFECYCLE: ${file}\n:INTERVAL: 1m\n`;
    const manifest =
      member("a", "desk.org", life("one.org")) + member("a-b", "desk.org", life("two.org"));
    fake.up(manifest, { graceMs: 0, staggerMs: 0 });
    expect(fake.emitted("parked")).toMatchObject([
      { name: "a-b", note: expect.stringContaining("lifecycle-ran-a-b-x with a in its state b-x") },
    ]);
    await fake.pass(0);
    expect(fake.running).toEqual(["a"]);
    // Renamed: it comes back. Named again so, while it runs: it is parked when its turn comes.
    fake.texts.set("/news/two.org", "* y\n");
    await fake.pass(SECOND);
    expect(fake.running).toEqual(["a", "a-b"]);
    fake.texts.set("/news/two.org", "* x\n");
    await fake.run("a-b").end("done");
    await fake.pass(MINUTE);
    expect(fake.status("a-b").state).toBe("parked");
    // The other one goes, and with it what it had.
    fake.texts.set("/news/crew.org", member("a-b", "desk.org", life("two.org")));
    await fake.pass(2 * SECOND);
    await fake.run("a").end("done");
    await fake.ask({ cmd: "resume", name: "a-b" });
    await fake.pass(MINUTE);
    expect(fake.running).toEqual(["a-b"]);
  });

  it("two states of one lifecycle that have the same file", async () => {
    const fake = newsroom();
    fake.texts.set("/news/life.org", "* x.1\n* x_1\n");
    fake.up(member("wren", "writer.org", ":LIFECYCLE: life.org\n"));
    expect(fake.status("wren").note).toContain("with its own state x.1");
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

describe("the status", () => {
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
