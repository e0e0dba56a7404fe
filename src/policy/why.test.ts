import { describe, expect, test } from "vitest";
import type { AttemptRecord } from "../model/attempt.ts";
import type { Task } from "../model/task.ts";
import { explain, type WhyFacts } from "./why.ts";

const NOW = Date.parse("2026-11-15T12:00:00Z");
const iso = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();

function facts(more: Partial<WhyFacts> = {}): WhyFacts {
  return {
    id: "a",
    state: "pending",
    since: iso(-180),
    task: { task_id: "a", task_type: "t" } as Task,
    history: [],
    dependencies: [],
    cycle: null,
    workers: [],
    now: NOW,
    ...more,
  };
}

const attempt = (more: Partial<AttemptRecord>): AttemptRecord => ({
  attempt: 1,
  worker: "w",
  token: "1",
  outcome: "failed",
  to: "waiting",
  at: iso(-10),
  ...more,
});
const codes = (given: WhyFacts) => explain(given).map(({ code }) => code);
const worker = (more: object = {}) => ({ name: "w", alive: true, types: null, age: 5, ...more });

describe("why it is not moving", () => {
  test("waits for others: which, in what state, whose, for how long", () => {
    const reasons = explain(
      facts({
        state: "waiting",
        dependencies: [
          { id: "ok", met: true, state: "done" },
          { id: "f", met: false, state: "failed" },
          { id: "u", met: false, state: "unknown" },
          { id: "q", met: false, state: "quarantined" },
          { id: "c", met: false, state: "claimed", worker: "w7", since: iso(-180) },
        ],
      }),
    );
    expect(reasons.map(({ code }) => code)).toEqual([
      "dependency_failed",
      "dependency_unknown",
      "dependency_unknown",
      "dependency_waiting",
    ]);
    expect(reasons.map(({ text }) => text)).toEqual([
      "waits for f, which failed",
      "waits for u, which nobody has enqueued yet",
      "waits for q, which is in quarantine",
      "waits for c, which is claimed by w7 for 3h",
    ]);
    expect(reasons[0]?.command).toBe("viv retry f");
  });

  test("every reason, in the order in which they would have to go away", () => {
    const given = facts({
      state: "waiting",
      task: { task_id: "a", task_type: "t", not_before: iso(10) } as Task,
      cycle: ["a", "b", "a"],
      dependencies: [{ id: "b", met: false, state: "waiting" }],
      history: [
        attempt({ fingerprint: "f" }),
        attempt({ fingerprint: "f" }),
        attempt({ fingerprint: "f", retry_at: iso(5) }),
      ],
    });
    expect(codes(given)).toEqual([
      "dependency_cycle",
      "dependency_waiting",
      "not_before",
      "resting",
      "choked",
    ]);
  });

  describe("choked", () => {
    const times = (worker: string, n: number, last: Partial<AttemptRecord> = {}) =>
      Array.from({ length: n }, (_, i) =>
        attempt({ worker, fingerprint: "f", note: "boom", ...(i === n - 1 ? last : {}) }),
      );
    const handed = { to: "pending" as const, note: "choked: … ; given to another worker" };

    test("with whom, on what, and who may still try it", () => {
      const history = times("w", 3, handed);
      const others = [worker({ name: "w2" }), worker({ name: "w3", types: ["t"] })];
      const strangers = [
        worker({ name: "w4", types: ["u"] }),
        worker({ name: "w5", alive: false }),
      ];
      const workers = [worker(), ...others, ...strangers];
      expect(explain(facts({ history, workers }))).toEqual([
        {
          code: "choked",
          text: "choked: three times the same failure with w (boom); w2, w3 may still try it",
          command: "viv show a",
        },
        { code: "queued", text: "it is in the queue; w2, w3 will take it in turn" },
      ]);
    });

    test("also when the next one has failed, in whatever way", () => {
      const history = [
        ...times("w", 3, handed),
        ...times("w2", 3, handed),
        attempt({ worker: "w3", retry_at: iso(5) }),
      ];
      const workers = [worker(), worker({ name: "w2" }), worker({ name: "w3" })];
      const reasons = explain(facts({ state: "waiting", history, workers }));
      expect(reasons.map(({ code }) => code)).toEqual(["resting", "choked"]);
      expect(reasons[1]?.text).toBe(
        "choked: three times the same failure with w2 (boom), as before with w; w3 may still try it",
      );
    });

    test("with nobody left", () => {
      const reasons = explain(facts({ history: times("w", 3, handed), workers: [worker()] }));
      expect(reasons).toMatchObject([
        { code: "choked", text: expect.stringMatching(/; no other living worker is there to try/) },
        { code: "no_worker", text: "all live workers that take tasks of type t have choked on it" },
      ]);
    });

    test("given up in the queue: it failed, nobody cancelled it", () => {
      const lastNote = "choked: …; no other worker is left to try it";
      const history = times("w", 3, handed);
      expect(explain(facts({ state: "failed", history, lastNote }))).toEqual([
        {
          code: "choked",
          text: "choked: three times the same failure with w (boom)",
          command: "viv show a",
        },
        { code: "failed", text: lastNote, command: "viv retry a" },
      ]);
      expect(codes(facts({ state: "failed", history, lastNote: "no need" }))).toEqual([
        "choked",
        "cancelled",
      ]);
    });

    test("no longer after a retry", () => {
      const retried = { retried: true as const, by: "me", at: iso(-1) };
      const given = facts({ history: [...times("w", 3), retried], workers: [worker()] });
      expect(codes(given)).toEqual(["queued"]);
    });
  });

  test("rate limited, until when", () => {
    const history = [attempt({ outcome: "rate_limited", retry_at: iso(30) })];
    const [reason] = explain(facts({ state: "waiting", history }));
    expect(reason).toMatchObject({ code: "rate_limited" });
    expect(reason?.text).toContain("in 30m");
  });

  test("in the queue, with or without a worker who would take it", () => {
    expect(codes(facts())).toEqual(["no_worker"]);
    expect(codes(facts({ workers: [worker({ types: ["other"] })] }))).toEqual(["no_worker"]);
    expect(codes(facts({ workers: [worker({ alive: false })] }))).toEqual(["no_worker"]);
    expect(codes(facts({ workers: [worker({ types: ["t"] })] }))).toEqual(["queued"]);
  });

  test("claimed: by whom, and whether that one is still there", () => {
    const given = { state: "claimed" as const, worker: "w" };
    expect(codes(facts({ ...given, workers: [worker()] }))).toEqual(["running"]);
    const [silent] = explain(facts({ ...given, workers: [worker({ alive: false })] }));
    expect(silent).toMatchObject({ code: "worker_silent", command: "viv reap" });
    const silentWith = (vitality: "alive" | "gone") => {
      const process = { pid: 77, vitality };
      return explain(facts({ ...given, process, workers: [worker({ alive: false })] }))[0]?.text;
    };
    expect(silentWith("alive")).toContain("its process 77 still runs");
    expect(silentWith("gone")).toBe(silent?.text);
  });

  test("the ends", () => {
    expect(codes(facts({ state: "done" }))).toEqual(["done"]);
    expect(codes(facts({ state: "review" }))).toEqual(["in_review"]);
    expect(codes(facts({ state: "quarantined", quarantineReason: "not JSON" }))).toEqual([
      "quarantined",
    ]);
    const failed = attempt({ to: "failed", note: "boom" });
    expect(explain(facts({ state: "failed", history: [failed] }))[0]).toMatchObject({
      code: "failed",
      text: "attempt 1 by w ended as failed: boom",
      command: "viv retry a",
    });
    const [cancelled] = explain(facts({ state: "failed", lastNote: "no need" }));
    expect(cancelled).toMatchObject({ code: "cancelled", text: "it was cancelled: no need" });
  });
});
