import { describe, expect, test } from "vitest";
import { settled } from "../../test/support/up-host.ts";
import { FakeWarden, SETTINGS } from "../../test/support/warden-host.ts";

describe("a dance", () => {
  test("pardons at once after an answer", async () => {
    const fake = new FakeWarden();
    fake.target("toast", { answers: { attempt: 1, afterMs: 20_000 } });
    fake.file("toast");
    await fake.up();
    await fake.pass(19_900);
    expect(fake.files.dances()[0]).toMatchObject({ state: "interrogating", attempt: 1 });
    await fake.pass(200);
    expect(fake.verdict("toast")).toBe("pardoned");
    expect(fake.files.dances()).toEqual([]);
    expect(fake.files.receipts()[0]?.why).toContain("answered in attempt 1");
  });

  test("asks a silent suspect three times, 60, 120 and 240 s, and executes it", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    fake.file("toast");
    await fake.up();
    await fake.pass(419_000);
    expect(fake.verdict("toast")).toBeNull();
    await fake.pass(1_000);
    expect(fake.verdict("toast")).toBe("executed");
    const times = toast.typed.map(({ at }) => at - (toast.typed[0]?.at ?? 0));
    expect(times).toEqual([0, 60_000, 180_000]);
    expect(toast.signalled.map((at) => at - (toast.typed[0]?.at ?? 0))).toEqual([420_000]);
    expect(fake.files.receipts()[0]?.exit).toMatchObject([{ signal: "SIGTERM" }]);
  });

  test("its output keeps coming: pardoned, with the evidence", async () => {
    const fake = new FakeWarden();
    fake.target("toast", { worksEveryMs: 25_000 });
    fake.file("toast");
    await fake.up();
    await fake.pass(60_000);
    expect(fake.verdict("toast")).toBe("pardoned");
    expect(fake.files.receipts()[0]?.evidence.join("\n")).toContain("step number");
  });

  test("one that ends by itself in mid-dance is already dead", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast", { diesAfterMs: 30_000 });
    fake.file("toast");
    fake.file("never-was");
    await fake.up();
    expect(fake.verdict("never-was")).toBe("already_dead");
    await fake.pass(60_000);
    expect(fake.verdict("toast")).toBe("already_dead");
    expect(toast.signalled).toEqual([]);
  });

  test("does not kill a suspect that cannot be identified, or may not be typed to", async () => {
    const fake = new FakeWarden();
    const other = fake.target("other", { cannotBeTold: "another session of that name" });
    const shell = fake.target("shell", { refuses: "bash waits for a command" });
    fake.file("other");
    fake.file("shell");
    await fake.up();
    await fake.pass(1_000_000);
    expect([fake.verdict("other"), fake.verdict("shell")]).toEqual(["failed", "failed"]);
    const whys = fake.files.receipts().map(({ why }) => why);
    expect(whys.sort()).toEqual([
      "another session of that name",
      expect.stringMatching(/^not_asked: bash waits for a command;.*--unasked execute/),
    ]);
    expect([...other.signalled, ...shell.signalled]).toEqual([]);
  });

  test("one that waits for a person is reported and spared, at the start and in mid-dance", async () => {
    const fake = new FakeWarden();
    const targets = [0, 30_000, 419_999].map((afterMs, i) =>
      fake.target(`t${i}`, { asksPersonAfterMs: afterMs }),
    );
    for (const i of targets.keys()) fake.file(`t${i}`);
    await fake.up();
    await fake.pass(500_000);
    for (const i of targets.keys()) expect(fake.verdict(`t${i}`)).toBe("pardoned");
    for (const { why } of fake.files.receipts())
      expect(why).toMatch(/^needs you: t\d asks for permission/);
    expect(targets.flatMap(({ signalled }) => signalled)).toEqual([]);
    expect(targets[0]?.typed).toEqual([]);
  });

  test("one that cannot be asked is watched for the whole dance, and ended only if that was asked for", async () => {
    const fake = new FakeWarden();
    const spared = fake.target("spared", { refuses: "vim is in the foreground" });
    const works = fake.target("works", {
      refuses: "vim is in the foreground",
      worksEveryMs: 25_000,
    });
    for (const name of ["spared", "works"]) fake.file(name);
    await fake.up();
    await fake.pass(100_000);
    expect(fake.verdict("works")).toBe("pardoned");
    expect(fake.verdict("spared")).toBeNull();
    await fake.pass(320_000);
    expect(fake.verdict("spared")).toBe("failed");
    expect([...spared.signalled, ...works.signalled]).toEqual([]);
    const other = new FakeWarden();
    other.settings = { ...SETTINGS, unasked: "execute" };
    const ended = other.target("vim", { refuses: "vim is in the foreground" });
    other.file("vim");
    await other.up();
    await other.pass(420_000);
    expect(other.verdict("vim")).toBe("executed");
    expect(ended.signalled).toHaveLength(1);
  });

  test("a question that waits behind a turn is waited for, as long as patience lasts", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, patienceMs: 600_000 };
    const patient = fake.target("patient", {
      busyForMs: 400_000,
      answers: { attempt: 1, afterMs: 405_000 },
    });
    const hung = fake.target("hung", { busyForMs: 10_000_000 });
    for (const name of ["patient", "hung"]) fake.file(name);
    await fake.up();
    await fake.pass(590_000);
    expect(fake.verdict("patient")).toBe("pardoned");
    expect(patient.typed).toHaveLength(1);
    expect(hung.typed).toHaveLength(1);
    await fake.pass(1_300_000);
    expect(fake.verdict("hung")).toBe("executed");
    expect(hung.typed).toHaveLength(3);
  });

  test("children at work pardon, within the limit of patience", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, patienceMs: 100_000 };
    fake.target("builds", { childrenWork: true });
    fake.file("builds");
    await fake.up();
    await fake.pass(60_000);
    expect(fake.files.receipts()[0]).toMatchObject({
      verdict: "pardoned",
      why: expect.stringContaining("make"),
    });
    const late = fake.target("stuck-tool", { childrenWork: true });
    await fake.pass(200_000);
    fake.file("stuck-tool");
    await fake.pass(425_000);
    expect(fake.verdict("stuck-tool")).toBe("executed");
    expect(late.signalled).toHaveLength(1);
  });

  test("an answer that comes between two attempts is heard", async () => {
    const fake = new FakeWarden();
    let looks = 0;
    const toast = fake.target("toast", {
      answers: { attempt: 1, afterMs: 60_001 },
      // Time goes on between the look of the evaluation and the one before the next question.
      onLook: (ms) => {
        if (ms >= 60_000 && ms < 61_000 && ++looks === 2) {
          fake.world.advance(1);
          toast.change(fake.world.clock.uptime() * 1000);
        }
      },
    });
    fake.file("toast");
    await fake.up();
    await fake.pass(500_000);
    expect(looks).toBeGreaterThan(1);
    expect(fake.verdict("toast")).toBe("pardoned");
  });

  test("a reply in other words is an answer", async () => {
    const fake = new FakeWarden();
    fake.target("busy", { says: { afterMs: 20_000, line: "running the test suite now…" } });
    fake.file("busy");
    await fake.up();
    await fake.pass(60_000);
    expect(fake.verdict("busy")).toBe("pardoned");
    expect(fake.files.receipts()[0]?.why).toContain("running the test suite now");
  });

  test("a session that its agent has left is already dead, and is closed only with --close", async () => {
    const fake = new FakeWarden();
    const left = fake.target("left", { isLeft: true });
    fake.file("left");
    await fake.up();
    expect(fake.verdict("left")).toBe("already_dead");
    expect(left.isGone).toBe(false);
  });

  test("a tree that survives is reported, not declared dead", async () => {
    const fake = new FakeWarden();
    fake.target("toast", { survives: true });
    fake.file("toast");
    await fake.up();
    await fake.pass(420_000);
    expect(fake.files.receipts()[0]).toMatchObject({ verdict: "failed", survivors: [5000] });
  });

  test("withdrawn in mid-dance: nothing is killed", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    fake.file("toast");
    await fake.up();
    await fake.pass(100_000);
    await fake.files.askToWithdraw("w-toast");
    await fake.pass(5_000);
    expect(fake.files.receipts()[0]).toMatchObject({
      verdict: "pardoned",
      why: "its warrant was withdrawn",
    });
    await fake.pass(1_000_000);
    expect(toast.signalled).toEqual([]);
    expect(fake.files.requests().withdrawals).toEqual([]);
  });

  test("released by hand, its warrant waits again and is taken anew", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    fake.file("toast");
    await fake.up();
    await fake.pass(10_000);
    fake.files.askToRelease(fake.files.dances()[0]?.id ?? "");
    await fake.pass(5_000);
    expect(fake.events.map(({ kind }) => kind)).toContain("released");
    expect(fake.files.dances()).toHaveLength(1);
    expect(toast.typed).toHaveLength(2);
  });

  test("a dog that is released takes the next warrant; the one it gave back waits behind those", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, pool: 1 };
    for (const name of ["a", "b", "c"]) {
      fake.target(name);
      fake.file(name);
      fake.world.advance(10);
    }
    await fake.up();
    fake.files.askToRelease(fake.files.dances()[0]?.id ?? "");
    await fake.pass(6_000);
    expect(fake.files.dances().map(({ warrant }) => warrant.target)).toEqual(["b"]);
    expect(fake.files.queued().warrants.map(({ target }) => target)).toEqual(["c", "a"]);
    fake.die();
    await fake.back();
    expect(fake.files.queued().warrants.map(({ target }) => target)).toEqual(["c", "a"]);
  });

  test("two are released at once: both warrants wait again", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, pool: 2 };
    for (const name of ["a", "b"]) {
      fake.target(name);
      fake.file(name);
    }
    await fake.up();
    for (const { id } of fake.files.dances()) fake.files.askToRelease(id);
    await fake.pass(20_000);
    const dancing = fake.files.dances().map(({ warrant }) => warrant.target);
    expect(dancing.sort()).toEqual(["a", "b"]);
  });

  test("a full disk: nothing is done that is not written", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    fake.file("toast");
    await fake.up();
    await fake.pass(300_000);
    fake.isFull = true;
    await fake.pass(600_000);
    expect(toast.signalled).toEqual([]);
    expect(fake.events.some(({ kind }) => kind === "trouble")).toBe(true);
    fake.isFull = false;
    await fake.pass(60_000);
    expect(fake.verdict("toast")).toBe("executed");
  });
});

/** The execution of toast is written, and nothing signalled. */
async function killedBeforeTheSignal(fake: FakeWarden): Promise<void> {
  fake.file("toast");
  await fake.up();
  await fake.pass(419_999);
  fake.killAt = 4; // two steps for each file: its time is up, it is to be executed
  await fake.pass(1);
  expect([fake.isDead, fake.files.dances()[0]?.state]).toEqual([true, "executing"]);
  fake.killAt = null;
}

describe("killed in an execution", () => {
  test("what is left of that very tree is ended, also if another has its name by now", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    await killedBeforeTheSignal(fake);
    toast.behaviour.cannotBeTold = "another session of that name";
    toast.behaviour.isReplaced = true;
    await fake.back();
    expect(fake.left).toEqual(toast.tree);
    expect(fake.verdict("toast")).toBe("executed");
  });

  test("but nothing in another boot, where its numbers belong to other processes", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    await killedBeforeTheSignal(fake);
    toast.isGone = true;
    fake.world.reboot();
    await fake.back();
    expect(fake.left).toEqual([]);
    expect(fake.files.dances()).toEqual([]);
  });
});

/** A silent target whose execution is to be written, while another process has the lock. */
async function lockedAtTheEnd(executions = 3) {
  const fake = new FakeWarden();
  fake.settings = { ...SETTINGS, breaker: { executions, withinMs: 600_000 } };
  let resolve = () => {};
  let reject = (_: Error) => {};
  const promise = new Promise<void>((...ends) => {
    [resolve, reject] = ends;
  });
  const toast = fake.target("toast", {
    onLook: (ms) => {
      if (ms >= 420_000 && fake.lock === null) fake.lock = promise;
    },
  });
  fake.file("toast");
  await fake.up();
  await fake.pass(420_000);
  expect(fake.lock).toBe(promise);
  const then = (act: () => void) => {
    act();
    fake.lock = Promise.resolve();
  };
  return {
    fake,
    toast,
    free: () => then(resolve),
    fail: (error: Error) => then(() => reject(error)),
  };
}

describe("just before the execution", () => {
  test("withdrawn while its last look was taken: nothing is killed", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast", {
      onLook: (now) => {
        if (now >= 420_000) void fake.files.askToWithdraw("w-toast");
      },
    });
    fake.file("toast");
    await fake.up();
    await fake.pass(500_000);
    expect(toast.signalled).toEqual([]);
    expect(fake.files.receipts()[0]).toMatchObject({ verdict: "pardoned" });
    expect(await fake.files.askToWithdraw("w-toast")).toBe(false);
  });

  test("stopped while it waits for the lock: it does not execute, and the next warden decides anew", async () => {
    const { fake, toast, free } = await lockedAtTheEnd();
    const running = fake.running;
    fake.warden?.stop();
    await fake.pass(0);
    free();
    await running;
    expect(fake.files.dances()[0]?.state).toBe("evaluating");
    toast.show("still here: reading the logs");
    await fake.pass(3_600_000);
    await fake.up();
    expect(toast.signalled).toEqual([]);
    expect(fake.verdict("toast")).toBe("pardoned");
  });

  test("stopped right after it was written: it is executed, not left for later", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    const { saveForExecution } = fake.files;
    fake.files.saveForExecution = async (...args) => {
      const isSaved = await saveForExecution(...args);
      fake.warden?.stop();
      await settled();
      return isSaved;
    };
    fake.file("toast");
    await fake.up();
    await fake.pass(430_000);
    await fake.running;
    expect(toast.signalled).toHaveLength(1);
    expect(fake.files.dances().map(({ state }) => state)).not.toContain("executing");
  });

  test("paused by a person while it waits for the lock: nothing is killed before the resume", async () => {
    const { fake, toast, free } = await lockedAtTheEnd();
    const since = new Date(fake.world.clock.now()).toISOString();
    fake.files.pause({ since, by: "ann", why: "looking into it" });
    free();
    await fake.pass(600_000);
    expect(toast.signalled).toEqual([]);
    expect(fake.files.dances()[0]?.state).toBe("evaluating");
    fake.files.resume(fake.world.clock.now());
    await fake.pass(60_000);
    expect(fake.verdict("toast")).toBe("executed");
  });

  test("another warden takes the folder while it waits for the lock: nothing is killed", async () => {
    const { fake, toast, free } = await lockedAtTheEnd();
    fake.isOurs = false;
    fake.running?.catch(() => {});
    free();
    await fake.pass(0);
    expect(toast.signalled).toEqual([]);
    expect(fake.files.dances()[0]?.state).toBe("evaluating");
  });

  test("the breaker opens while it waits for the lock: its place was counted, so it goes on", async () => {
    const { fake, toast, free } = await lockedAtTheEnd(1);
    const since = new Date(fake.world.clock.now()).toISOString();
    fake.files.pause({ since, by: "breaker", why: "1 execution" });
    free();
    await fake.pass(1_000);
    expect(toast.signalled).toHaveLength(1);
  });

  test("an unexpected error while it is written takes no place among the executions", async () => {
    const { fake, toast, fail } = await lockedAtTheEnd(1);
    fail(new Error("a bug"));
    await fake.pass(0);
    expect(fake.emitted("trouble")).toHaveLength(1);
    await fake.pass(60_000);
    expect(fake.emitted("paused")).toEqual([]);
    expect(toast.signalled).toHaveLength(1);
  });

  test("an answer between the decision and the first signal pardons, also after a crash", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast", { answers: { attempt: 3, afterMs: 240_500 } });
    await killedBeforeTheSignal(fake);
    await fake.pass(1_000);
    await fake.back();
    expect(toast.signalled).toEqual([]);
    expect(fake.verdict("toast")).toBe("pardoned");
  });

  test("an answer while the disk is full pardons when it is free again", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast", {
      answers: { attempt: 3, afterMs: 400_000 },
      onLook: (ms) => {
        const isLast = ms >= 420_000 && fake.files.dances()[0]?.state === "evaluating";
        if (isLast && !toast.isAnswered) fake.isFull = true;
      },
    });
    fake.file("toast");
    await fake.up();
    await fake.pass(719_000);
    fake.isFull = false;
    await fake.pass(60_000);
    expect(toast.signalled).toEqual([]);
    expect(fake.verdict("toast")).toBe("pardoned");
  });
});

test("a full disk when the question is to be written: it is asked later", async () => {
  const fake = new FakeWarden();
  const toast = fake.target("toast", { answers: { attempt: 1, afterMs: 1_000 }, isFull: true });
  fake.file("toast");
  await fake.up();
  await fake.pass(10_000);
  expect(fake.files.dances()[0]?.attempts[0]?.asked_at).toBeNull();
  toast.behaviour.isFull = false;
  await fake.pass(60_000);
  expect(fake.verdict("toast")).toBe("pardoned");
});

test("an answer beside the terminal is heard at the next look around, not at the dog's own", async () => {
  const fake = new FakeWarden();
  const toast = fake.target("toast");
  fake.file("toast");
  await fake.up();
  await fake.pass(16_000); // its own next look is at 30 s
  fake.files.answer(toast.typed[0]?.nonce ?? "", "{}");
  toast.behaviour.answersBeside = true;
  await fake.pass(5_000);
  expect(fake.verdict("toast")).toBe("pardoned");
});

test("an unexpected error costs no dog: it goes on from disk, with the same question", async () => {
  const fake = new FakeWarden();
  let failures = 2;
  const toast = fake.target("toast", {
    answers: { attempt: 1, afterMs: 50_000 },
    onLook: (ms) => {
      if (ms >= 10_000 && failures-- > 0) throw new Error("too many open files");
    },
  });
  fake.file("toast");
  await fake.up();
  await fake.pass(100_000);
  expect(fake.emitted("trouble")).toHaveLength(2);
  expect(toast.typed).toHaveLength(1);
  expect(fake.verdict("toast")).toBe("pardoned");
});

describe("the pool", () => {
  test("folders where a request should be a file do not stop it", async () => {
    const fake = new FakeWarden();
    fake.target("toast");
    await fake.up();
    const { mkdirSync } = await import("node:fs");
    mkdirSync(`${fake.folder}/withdrawals/w1/x`, { recursive: true });
    mkdirSync(`${fake.folder}/active/dog-1.release/x`, { recursive: true });
    fake.file("toast");
    await fake.pass(10_000);
    expect(fake.files.dances()).toHaveLength(1);
    expect(fake.files.requests()).toMatchObject({ withdrawals: [], releases: [] });
  });

  test("its folder was removed: it kills nothing, and stops", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("toast");
    fake.file("toast");
    await fake.up();
    fake.isOurs = false;
    const running = expect(fake.running).rejects.toThrow("removed under this warden");
    await fake.pass(1_000_000);
    await running;
    expect(toast.signalled).toEqual([]);
  });

  test("the sixth warrant waits, in the order of filing, and begins the moment a dog is free", async () => {
    const fake = new FakeWarden();
    for (let i = 0; i < 8; i++) {
      fake.target(`t${i}`, i === 2 ? { answers: { attempt: 1, afterMs: 5_000 } } : {});
      fake.file(`t${i}`);
      fake.world.advance(10);
    }
    await fake.up();
    const dancing = () =>
      fake.files
        .dances()
        .map(({ warrant }) => warrant.target)
        .sort();
    expect(dancing()).toEqual(["t0", "t1", "t2", "t3", "t4"]);
    await fake.pass(5_000);
    expect(dancing()).toEqual(["t0", "t1", "t3", "t4", "t5"]);
    expect(fake.files.queued().warrants.map(({ target }) => target)).toEqual(["t6", "t7"]);
  });

  test("the breaker: three executions, then it waits for a person; an answer meanwhile pardons", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, breaker: { executions: 3, withinMs: 600_000 } };
    const targets = ["a", "b", "c", "d", "e"].map((name) =>
      fake.target(name, name === "e" ? { answers: { attempt: 3, afterMs: 500_000 } } : {}),
    );
    for (const name of ["a", "b", "c", "d", "e"]) fake.file(name);
    await fake.up();
    await fake.pass(425_000);
    const killed = () => targets.filter(({ signalled }) => signalled.length > 0).length;
    expect(killed()).toBe(3);
    expect(fake.files.paused()).toMatchObject({ by: "breaker" });
    fake.target("f");
    fake.file("f");
    await fake.pass(3_600_000);
    expect(killed()).toBe(3);
    expect(fake.files.queued().warrants).toHaveLength(1);
    expect(fake.verdict("e")).toBe("pardoned");
    fake.files.resume(fake.world.clock.now());
    await fake.pass(10_000);
    expect(killed()).toBe(4);
    expect(fake.files.dances().map(({ warrant }) => warrant.target)).toEqual(["f"]);
  });

  test("the breaker counts executions with survivors, too; before a restart as well", async () => {
    const fake = new FakeWarden();
    fake.settings = { ...SETTINGS, breaker: { executions: 2, withinMs: 600_000 } };
    const names = ["a", "b", "c"];
    const targets = names.map((name) => fake.target(name, { survives: true }));
    for (const name of names.slice(0, 2)) fake.file(name);
    await fake.up();
    await fake.pass(425_000);
    fake.die();
    fake.file("c");
    fake.settings = { ...fake.settings, timeoutsMs: [1_000] };
    await fake.back();
    await fake.pass(10_000);
    expect(targets.map(({ signalled }) => signalled.length)).toEqual([1, 1, 0]);
    expect(fake.files.paused()).toMatchObject({ by: "breaker" });
  });

  test("half-written files of a crash are removed after a day", async () => {
    const { existsSync, mkdirSync, utimesSync, writeFileSync } = await import("node:fs");
    const fake = new FakeWarden();
    const at = (name: string) => `${fake.folder}/active/${name}`;
    mkdirSync(`${fake.folder}/active`);
    const old = new Date(fake.world.clock.now() - 25 * 3_600_000);
    for (const name of [".dog-1.json.0a1b2c3d", ".dog-2.json.0a1b2c3d", ".hidden"]) {
      writeFileSync(at(name), "{");
      if (!name.includes("dog-2")) utimesSync(at(name), old, old);
    }
    await fake.up();
    const kept = [".dog-1.json.0a1b2c3d", ".dog-2.json.0a1b2c3d", ".hidden"].filter((name) =>
      existsSync(at(name)),
    );
    expect(kept).toEqual([".dog-2.json.0a1b2c3d", ".hidden"]);
  });

  test("a second warrant for one target, and a file that is no warrant, are put aside with the reason", async () => {
    const fake = new FakeWarden();
    fake.target("toast");
    fake.file("toast");
    await fake.up();
    const { writeFileSync, readdirSync, readFileSync, utimesSync } = await import("node:fs");
    const old = new Date(fake.world.clock.now() - 60_000);
    for (const [name, text] of [
      ["again.json", '{"target": "toast"}'],
      ["broken.json", '{"target": '],
      ["note.txt", "hello"],
    ] as const) {
      writeFileSync(`${fake.folder}/warrants/${name}`, text);
      utimesSync(`${fake.folder}/warrants/${name}`, old, old);
    }
    await fake.pass(5_000);
    expect(readdirSync(`${fake.folder}/rejected`).sort()).toEqual([
      ...["again.json", "again.json.why", "broken.json", "broken.json.why"],
      ...["note.txt", "note.txt.why"],
    ]);
    const same = { id: "w-toast.json", text: '{"target": "butter"}' };
    writeFileSync(`${fake.folder}/warrants/${same.id}`, same.text);
    await fake.pass(5_000);
    const another = readFileSync(`${fake.folder}/rejected/${same.id}.why`, "utf8");
    expect(another).toContain("for another target than butter");
    const why = readFileSync(`${fake.folder}/rejected/again.json.why`, "utf8");
    expect(why).toContain("w-toast");
    expect(fake.files.dances()).toHaveLength(1);
  });
});
