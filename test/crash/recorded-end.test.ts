import fs, {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isVivError } from "../../src/base/errors.ts";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { OneCallFails } from "../support/call-faults.ts";
import { until } from "../support/deadline.ts";
import { Faults } from "../support/faults.ts";
import { newFolder } from "../support/folders.ts";
import { knownPath } from "../support/handle-paths.ts";
import { FakeHost } from "../support/machine.ts";
import { countedCompletions, ledgerLines, places } from "../support/run-files.ts";

/** An end that is recorded is an end, also if the task was not moved: nobody overrules it, nobody voids it. */

const HOUR = 3_600_000;

async function scene(spec: Record<string, unknown> = {}) {
  const path = join(newFolder(), "run");
  const host = new FakeHost();
  const open = () => openRun(path, { machine: host.process() });
  const worker = await openRun(path, { create: true, machine: host.process() });
  await worker.enqueue({ id: "a", type: "t", ...spec });
  const [claim] = await worker.claim({ worker: "w" });
  if (!claim) throw new Error("a was there");
  const ref = { id: "a", worker: "w", token: claim.token };
  await new Promise((resolve) => setImmediate(resolve));
  return { path, host, open, worker, ref };
}

/** Killed right after the line in the ledger, or so many changes later. */
async function diesBeforeTheMove(act: () => Promise<unknown>, later = 0): Promise<void> {
  const faults = new Faults("die", 2 + later);
  await act().catch(() => {});
  faults.heal();
}

const state = (path: string) =>
  places(path)
    .get("a")
    ?.map((lies) => lies.state);
const ends = (path: string) => ledgerLines(path).lines.filter(({ event }) => event === "ended");
const voids = (path: string) => ledgerLines(path).lines.filter(({ event }) => event === "void");
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "fine",
    (error) => (isVivError(error) ? error.code : error),
  );

describe("killed between the line and the move", () => {
  test("cancel makes the recorded end, and says what the task is now", async () => {
    const { path, open, worker, ref } = await scene();
    await diesBeforeTheMove(() => worker.complete(ref));
    expect(state(path)).toEqual(["claimed"]);
    const person = await open();
    expect(await codeOf(person.cancel("a", { by: "me" }))).toBe("WRONG_STATE");
    expect(await codeOf(person.retry("a"))).toBe("WRONG_STATE");
    expect(state(path)).toEqual(["done"]);
    expect(countedCompletions(path)).toEqual(new Map([["a", 1]]));
    expect(await person.attemptsOf("a")).toMatchObject([{ outcome: "done" }]);
  });

  test("what was given back is cancelled from where it went", async () => {
    const { path, open, worker, ref } = await scene();
    await diesBeforeTheMove(() => worker.release(ref));
    expect(await (await open()).cancel("a")).toMatchObject({ from: "pending", to: "failed" });
    expect(ends(path)).toMatchObject([{ outcome: "released" }]);
  });

  test.each(["complete", "fail", "release"] as const)(
    "the same %s by another process counts once",
    async (how) => {
      const { path, open, worker, ref } = await scene({ max_attempts: 3 });
      await diesBeforeTheMove(() => worker[how](ref));
      expect(state(path)).toEqual(["claimed"]);
      const other = await open();
      const { to, attempt } = await other[how](ref);
      expect({ to: [to], attempt }).toEqual({ to: state(path), attempt: 1 });
      expect(ends(path)).toHaveLength(1);
      expect(await other.attemptsOf("a")).toHaveLength(1);
    },
  );

  test("another end than the recorded one is refused, and the recorded one made", async () => {
    const { path, open, worker, ref } = await scene();
    await diesBeforeTheMove(() => worker.complete(ref));
    expect(await codeOf((await open()).release(ref))).toBe("CLAIM_LOST");
    expect(state(path)).toEqual(["done"]);
    expect(ends(path)).toHaveLength(1);
  });

  test.each([1, 3])(
    "a reaper that died there (%s) does not make its worker's result void",
    async (later) => {
      const { path, host, open, ref } = await scene();
      host.advance(HOUR);
      const reaper = await open();
      await diesBeforeTheMove(() => reaper.reap(), later);
      expect(ends(path)).toMatchObject([{ outcome: "abandoned" }]);
      expect(await (await open()).complete(ref)).toMatchObject({ to: "done", attempt: 1 });
      expect(await reaper.attemptsOf("a")).toMatchObject([{ outcome: "done" }]);
    },
  );

  test("an end that was taken back does not count", async () => {
    const { path, host, open, ref } = await scene();
    const of = { task: "a", worker: "w", token: ref.token, outcome: "done" };
    const [file] = fs.readdirSync(join(path, "ledger"));
    for (const event of ["ended", "void"]) {
      const line = { at: new Date().toISOString(), event, ...of, to: "done" };
      appendFileSync(join(path, "ledger", file as string), `${JSON.stringify(line)}\n`);
    }
    host.advance(HOUR);
    const reaper = await open();
    const { findings } = await reaper.doctor();
    expect(findings.map(({ code }) => code)).toContain("claim_without_worker");
    expect((await reaper.reap()).reaped).toMatchObject([{ to: "pending", reason: "stale" }]);
  });

  test.each([-2, 2])("it is found in a file whose day is %s days off", async (days) => {
    const { path, open, worker, ref } = await scene();
    await diesBeforeTheMove(() => worker.complete(ref));
    const [file] = fs.readdirSync(join(path, "ledger"));
    const lines = readFileSync(join(path, "ledger", file as string), "utf8")
      .trimEnd()
      .split("\n");
    const day = new Date(Date.now() + days * 24 * HOUR).toISOString().slice(0, 10);
    writeFileSync(join(path, "ledger", file as string), `${lines.slice(0, -1).join("\n")}\n`);
    writeFileSync(join(path, "ledger", `${day}.jsonl`), `${lines.at(-1)}\n`);
    expect(await codeOf((await open()).cancel("a"))).toBe("WRONG_STATE");
    expect(state(path)).toEqual(["done"]);
  });
});

describe("the file was touched since: its link in ids/ is gone", () => {
  const lose = (path: string) => fs.rmSync(join(path, ".viv"), { recursive: true });

  test.each(["complete", "fail", "release"] as const)("reap makes the recorded %s", async (how) => {
    const { path, host, open, worker, ref } = await scene({ max_attempts: 3 });
    await diesBeforeTheMove(() => worker[how](ref));
    lose(path);
    host.advance(HOUR);
    const reaper = await open();
    expect((await reaper.doctor()).findings).toMatchObject([{ code: "unfinished_transition" }]);
    expect((await reaper.reap()).reaped).toMatchObject([{ reason: "finished" }]);
    expect([ends(path)[0]?.to]).toEqual(state(path));
    expect(ends(path)).toHaveLength(1);
    lose(path);
    expect(await (await open()).attemptsOf("a")).toHaveLength(1);
  });

  test("cancel makes it, and the same end asked for again is that one", async () => {
    for (const act of ["cancel", "complete"] as const) {
      const { path, open, worker, ref } = await scene();
      await diesBeforeTheMove(() => worker.complete(ref));
      lose(path);
      const other = await open();
      const code = await codeOf(act === "cancel" ? other.cancel("a") : other.complete(ref));
      expect(code).toBe(act === "cancel" ? "WRONG_STATE" : "fine");
      expect(state(path)).toEqual(["done"]);
      expect(ends(path)).toHaveLength(1);
    }
  });

  test("the end of an earlier attempt is not that of one whose claim was not recorded", async () => {
    const { path, host, open, worker, ref } = await scene({ max_attempts: 5 });
    const pending = join(path, "pending", "a.json");
    const claimed = join(path, "claimed", "w", "a.json");
    // Its release dates the file, by a clock that ticks only now and then.
    const { ctimeMs } = statSync(claimed);
    await until("the clock has ticked", () => Date.now() > ctimeMs + 10);
    await worker.release(ref);
    renameSync(pending, claimed);
    host.advance(HOUR);
    expect((await (await open()).reap()).reaped).toMatchObject([
      { to: "pending", reason: "stale" },
    ]);
    expect(ends(path)).toMatchObject([{ outcome: "released" }, { outcome: "abandoned" }]);
  });
});

describe("an end that somebody else makes", () => {
  /** Stopped right before its rename, while others act. */
  function beforeTheRename(act: () => void): void {
    const original = fs.renameSync;
    fs.renameSync = (from, to) => {
      if (knownPath(from).includes("/claimed/")) {
        fs.renameSync = original;
        syncBuiltinESMExports();
        act();
      }
      original(from, to);
    };
    syncBuiltinESMExports();
    onTestFinished(() => {
      fs.renameSync = original;
      syncBuiltinESMExports();
    });
  }

  test.each([
    ["complete", "reap"],
    ["fail", "reap"],
    ["release", "reap"],
    ["complete", "cancel"],
  ] as const)("its own worker's %s is a success when the %s made it", async (how, by) => {
    const { path, host, open, worker, ref } = await scene({ max_attempts: 3 });
    const other: Store = await open();
    let made: Promise<unknown> = Promise.resolve();
    beforeTheRename(() => {
      host.advance(by === "reap" ? HOUR : 0);
      made = by === "reap" ? other.reap() : codeOf(other.cancel("a"));
    });
    const ended = await worker[how](ref);
    await made;
    expect([ended.to]).toEqual(state(path));
    expect(voids(path)).toEqual([]);
    expect(ends(path)).toHaveLength(1);
    expect(await other.attemptsOf("a")).toHaveLength(1);
  });

  test("taken back before it, it is void, and refused", async () => {
    const { path, worker, ref } = await scene();
    // A foreign reaper, which knows nothing of ledgers.
    beforeTheRename(() => {
      renameSync(join(path, "claimed/w/a.json"), join(path, "pending/a.json"));
    });
    expect(await codeOf(worker.complete(ref))).toBe("CLAIM_LOST");
    expect(voids(path)).toHaveLength(1);
    expect(countedCompletions(path)).toEqual(new Map());
  });
});

describe("an end that cannot be recorded", () => {
  /** The disk is full from the n-th change on. */
  const full = (at: number) => new Faults("enospc", at);

  test.each(["complete", "fail", "release"] as const)(
    "%s: refused while the disk is full, then made once, wherever it was cut off",
    async (how) => {
      for (let at = 1; ; at++) {
        const { path, worker, ref } = await scene({ max_attempts: 3, review: true });
        const faults = full(at);
        const answers = [await codeOf(worker[how](ref)), await codeOf(worker[how](ref))];
        faults.heal();
        if (answers.includes("fine")) return;
        expect(answers).toEqual(["DISK_FULL", "DISK_FULL"]);
        expect(state(path)).toEqual(["claimed"]);
        expect((await worker[how](ref)).attempt).toBe(1);
        expect(ends(path)).toHaveLength(1);
        expect(await worker.attemptsOf("a")).toHaveLength(1);
      }
    },
  );

  test("half a line fits, and then there is room again: the line is whole", async () => {
    const { path, worker, ref } = await scene();
    const original = fs.writeSync;
    fs.writeSync = ((fd: number, data: string | Buffer) => {
      fs.writeSync = original;
      syncBuiltinESMExports();
      return original(fd, String(data).slice(0, 40));
    }) as typeof fs.writeSync;
    syncBuiltinESMExports();
    expect(await worker.complete(ref)).toMatchObject({ to: "done" });
    expect(ends(path)).toMatchObject([{ token: ref.token, outcome: "done" }]);
  });

  test("also when half a line fitted", async () => {
    const { path, worker, ref } = await scene();
    const original = fs.writeSync;
    let isTorn = false;
    const torn = (fd: number, data: string | Buffer, ...rest: number[]) => {
      const text = String(data);
      if (!text.includes('"ended"') && !isTorn) {
        return (original as (...args: unknown[]) => number)(fd, data, ...rest);
      }
      if (isTorn)
        throw Object.assign(new Error("ENOSPC: no space"), { code: "ENOSPC", errno: -28 });
      isTorn = true;
      return original(fd, text.slice(0, 40));
    };
    fs.writeSync = torn as typeof fs.writeSync;
    syncBuiltinESMExports();
    const answer = await codeOf(worker.complete(ref));
    fs.writeSync = original;
    syncBuiltinESMExports();
    expect(answer).toBe("DISK_FULL");
    expect(await worker.complete(ref)).toMatchObject({ to: "done", attempt: 1 });
    expect(ends(path)).toHaveLength(1);
    expect(countedCompletions(path)).toEqual(new Map([["a", 1]]));
  });

  test("and another made it meanwhile", async () => {
    const { path, host, open, worker, ref } = await scene();
    const fault = new OneCallFails("EIO", 3);
    expect(await codeOf(worker.complete(ref))).toBe("DISK_FAULT");
    fault.heal();
    expect(ends(path)).toHaveLength(1);
    host.advance(HOUR);
    expect((await (await open()).reap()).reaped).toMatchObject([{ reason: "finished" }]);
    expect(await worker.complete(ref)).toMatchObject({ to: "done", attempt: 1 });
    expect(ends(path)).toHaveLength(1);
    expect(voids(path)).toEqual([]);
  });
});

describe("a ledger of many lines", () => {
  const LINES = 40_000;

  async function longLedger() {
    const made = await scene();
    const [file] = fs.readdirSync(join(made.path, "ledger"));
    const path = join(made.path, "ledger", file as string);
    const at = new Date().toISOString();
    const line = `{"at":"${at}","event":"step","task":"z","worker":"v","text":"so it goes"}\n`;
    const own = readFileSync(path, "utf8");
    writeFileSync(path, line.repeat(LINES) + own);
    return { ...made, size: line.length * LINES };
  }

  /** Bytes read from files while it acts. */
  async function bytesRead(act: () => Promise<unknown>): Promise<number> {
    let bytes = 0;
    const original = fs.readSync;
    fs.readSync = ((...args: Parameters<typeof fs.readSync>) => {
      const n = original(...args);
      bytes += n;
      return n;
    }) as typeof fs.readSync;
    syncBuiltinESMExports();
    try {
      await act();
    } finally {
      fs.readSync = original;
      syncBuiltinESMExports();
    }
    return bytes;
  }

  test.each([false, true])(
    "a slow sync does not read it again (in the background: %s)",
    async (inBackground) => {
      const { worker, ref } = await longLedger();
      let late = 0;
      const now = performance.now.bind(performance);
      vi.spyOn(performance, "now").mockImplementation(() => now() + late);
      onTestFinished(() => void vi.restoreAllMocks());
      const slow = { fdatasyncSync: fs.fdatasyncSync, fsync: fs.fsync };
      const library = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
      for (const [name, original] of Object.entries(slow)) {
        library[name] = (...args) => {
          late += 3_000;
          return (original as (...args: unknown[]) => unknown)(...args);
        };
      }
      syncBuiltinESMExports();
      onTestFinished(() => {
        Object.assign(fs, slow);
        syncBuiltinESMExports();
      });
      const bytes = await bytesRead(() => worker.complete(ref, { inBackground }));
      expect(late).toBeGreaterThan(0);
      expect(bytes).toBeLessThan(64 * 1024);
    },
  );

  test("cancel, and the end of a claim by another process, read what was written since the claim", async () => {
    const { open, ref, size } = await longLedger();
    const other = await open();
    expect(size).toBeGreaterThan(2 * 1024 * 1024);
    expect(await bytesRead(() => other.release(ref))).toBeLessThan(256 * 1024);
    const [claim] = await other.claim({ worker: "w" });
    expect(claim?.attempt).toBe(2);
    const person = await open();
    expect(await bytesRead(() => person.cancel("a"))).toBeLessThan(256 * 1024);
  });
});

describe("status.json stands in the way", () => {
  test.each([
    ["broken", (path: string) => writeFileSync(join(path, "status.json"), "{")],
    [
      "a folder",
      (path: string) => {
        fs.rmSync(join(path, "status.json"));
        mkdirSync(join(path, "status.json"));
      },
    ],
  ] as const)("%s: what is done is done, with a warning", async (_, harm) => {
    const { path, worker, ref } = await scene();
    harm(path);
    expect(await worker.complete(ref)).toMatchObject({ to: "done" });
    const warnings: string[] = [];
    await worker.close({ warn: (sentence) => void warnings.push(sentence) });
    expect(warnings).toEqual([expect.stringMatching(/^completed_tasks in status\.json is not/)]);
    expect(state(path)).toEqual(["done"]);
  });
});

test("a cancel that was refused is not made later by the reaper", async () => {
  for (let at = 1; ; at++) {
    const { path, host, open } = await scene();
    const person = await open();
    const fault = new OneCallFails("EMFILE", at);
    const said = await codeOf(person.cancel("a", { by: "me" }));
    fault.heal();
    if (!fault.happened) return;
    host.advance(HOUR);
    await person.reap();
    const story = `EMFILE at call ${at} of:\n${fault.log.join("\n")}\n${said}`;
    expect(state(path), story).toEqual([said === "fine" ? "failed" : "pending"]);
    expect((await person.attemptsOf("a")).map((one) => "outcome" in one && one.outcome)).toEqual([
      said === "fine" ? "cancelled" : "abandoned",
    ]);
  }
});
