import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Target } from "../../src/notify/config.ts";
import { Intake, type Source } from "../../src/notify/intake.ts";
import { outboxIn } from "../../src/notify/outbox-files.ts";
import type { Attempted } from "../../src/notify/plan.ts";
import { Sender } from "../../src/notify/sender.ts";
import { type Fault, Faults } from "../support/faults.ts";
import { newFolder } from "../support/folders.ts";

/**
 * News from the ledger to a target, cut off at every change to the file system. Afterwards each fact
 * is told once, or it is unsure and shown as that: never lost, and never told twice.
 */

const TARGETS: readonly Target[] = ["t", "u"].map((name) => ({
  ...{ name, on: ["review"], way: { kind: "desktop" } },
}));

/** What the services got: `target subject`, for each request. */
type Got = string[];

class OneProcess {
  readonly files: ReturnType<typeof outboxIn>;
  readonly intake: Intake;
  readonly sender: Sender;

  constructor(folder: string, got: Got, clock: { now: number }, answers: Attempted[] = []) {
    this.files = outboxIn(join(folder, "outbox"));
    const now = () => clock.now;
    this.intake = new Intake(this.files, {
      ...{ place: "run", targets: () => TARGETS, now, source: LEDGER },
    });
    this.sender = new Sender(this.files, {
      ...{ targets: () => TARGETS, now, random: () => 1 },
      deliver: async (target, { items }) => {
        const answer = answers.shift() ?? { kind: "sent" };
        // What was refused has not arrived.
        if (answer.kind === "sent")
          got.push(...items.map((one) => `${target.name} ${one.subject}`));
        return answer;
      },
    });
  }
}

/** Two facts, after a beginning without any; a position is how many of them are read. */
const LEDGER: Source = {
  read: async (from) => {
    const facts = from === "end" ? [] : ["a", "b"].slice(from.facts);
    return {
      news: facts.map((subject) => ({
        ...{ fact: subject, event: "review", at: "2999-01-01T00:00:00.000Z", subject, text: "" },
      })),
      position: { facts: (from === "end" ? 0 : (from.facts ?? 0)) + facts.length },
      isIdle: true,
    };
  },
};

let faults: Faults | undefined;
afterEach(() => faults?.heal());

/** Returns false when there is no such step. */
async function cutOff(fault: Fault, at: number): Promise<boolean> {
  const folder = newFolder();
  const got: Got = [];
  const clock = { now: Date.now() };
  await new OneProcess(folder, got, clock).intake.take();
  // The first request of each target fails, and is made again a minute later.
  const busy = { kind: "again" as const, reason: "status 500" };
  const dying = new OneProcess(folder, got, clock, [busy, busy]);
  faults = new Faults(fault, at);
  try {
    await dying.intake.take();
    await dying.sender.pass();
    clock.now += 60_000;
    await dying.sender.pass();
  } catch {
    // it is dead, or its disk is full
  } finally {
    faults.heal();
  }
  clock.now += 3_600_000;
  const next = new OneProcess(folder, got, clock);
  await next.intake.take();
  await next.sender.pass();
  const log = faults.log.join("\n");
  const stateOf = new Map<string, string>();
  for (const state of ["new", "sending", "sent", "failed", "unsure"] as const) {
    for (const { target, items } of next.files.messages(state)) {
      const key = `${target} ${items[0]?.subject}`;
      expect(stateOf.has(key), `${key} is in two places after\n${log}`).toBe(false);
      stateOf.set(key, state);
    }
  }
  expect([...stateOf.keys()].sort(), `a message is lost after\n${log}`).toEqual([
    ...["t a", "t b", "u a", "u b"],
  ]);
  for (const [key, state] of stateOf) {
    const times = got.filter((one) => one === key).length;
    expect(["sent", "unsure"], `${key} after\n${log}`).toContain(state);
    if (state === "sent") expect(times, `${key} is sent after\n${log}`).toBe(1);
    else expect(times, `${key} is unsure after\n${log}`).toBeLessThanOrEqual(1);
  }
  return faults.happened;
}

const WHAT: Record<Fault, string> = {
  ...{ die: "death", tear: "death in the middle of a write", enospc: "a full disk" },
};

describe.each(["die", "tear", "enospc"] as const)("an outbox", (fault) => {
  it(`tells each fact once after ${WHAT[fault]} at any step`, { timeout: 60_000 }, async () => {
    let steps = 0;
    // A torn write strikes at the next write: the same one for several steps.
    for (let at = 1; await cutOff(fault, at); at = Math.max(at, faults?.struckAt ?? 0) + 1) steps++;
    expect(steps).toBeGreaterThan(10);
  });
});
