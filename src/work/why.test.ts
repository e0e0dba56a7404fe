import { describe, expect, test } from "vitest";
import { type AccountState, openAccount } from "../engines/accounts/account.ts";
import type { AttemptRecord } from "../queue/attempt.ts";
import type { Task } from "../queue/task.ts";
import { type DownWorker, explain, type RouteFact, type WhyFacts } from "./why.ts";

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
const worker = (more: object = {}) => ({
  name: "w",
  alive: true,
  types: null,
  heartbeatAge: 5,
  process: "alive" as const,
  claims: [],
  note: "",
  paused: null,
  ...more,
});

describe("why it is not moving", () => {
  test("waits for others: names, states, workers, durations", () => {
    const reasons = explain(
      facts({
        state: "waiting",
        dependencies: [
          { id: "ok", met: true, state: "done" },
          { id: "f", met: false, state: "failed" },
          { id: "s", met: false, state: "failed", cancelled: true },
          { id: "u", met: false, state: "unknown" },
          { id: "q", met: false, state: "quarantined" },
          { id: "c", met: false, state: "claimed", worker: "w7", since: iso(-180) },
        ],
      }),
    );
    expect(reasons.map(({ code }) => code)).toEqual([
      "dependency_failed",
      "dependency_failed",
      "dependency_unknown",
      "dependency_unknown",
      "dependency_waiting",
    ]);
    expect(reasons.map(({ text }) => text)).toEqual([
      "waits for f, which failed",
      "waits for s, which was cancelled",
      "waits for u, which is not enqueued yet",
      "waits for q, which is in quarantine",
      "waits for c, which is claimed by w7 for 3h",
    ]);
    expect(reasons[0]?.command).toBe("viv retry f");
  });

  test("its account is closed until a time, or until a person has done something", () => {
    const closed: AccountState = {
      ...{ account: "main", state: "closed", reason: "rate_limited", until: iso(12) },
      ...{ since: iso(-1), message: "429", todo: "", by: null, failures: 1 },
    };
    const [reason] = explain(facts({ account: closed, workers: [worker()] }));
    expect(reason).toEqual({
      code: "account_closed",
      text: "account main is closed until 12:12 UTC (in 12m): rate limit",
    });
    const far: AccountState = { ...closed, until: iso(2 * 24 * 60) };
    expect(explain(facts({ account: far }))[0]?.text).toContain(
      "until 2026-11-17 12:00 UTC (in 2d",
    );
    const parked: AccountState = {
      ...{ ...closed, state: "parked", reason: "quota", until: null },
      ...{ message: "no credit left", todo: "buy some" },
    };
    expect(explain(facts({ account: parked }))[0]).toEqual({
      code: "account_closed",
      text: "account main is parked: no credit left; buy some; then:",
      command: "viv accounts open main",
    });
    const shy: AccountState = { ...parked, message: "", todo: "" };
    expect(explain(facts({ account: shy }))[0]?.text).toBe(
      "account main is parked: quota used up; then:",
    );
    expect(codes(facts({ account: openAccount("main") }))).toEqual(["no_worker"]);
    // After a limit of its own, before a rest; and the queue still counts.
    const limited = attempt({ outcome: "rate_limited", retry_at: iso(5) });
    const both = { account: closed, workers: [worker()] };
    expect(codes(facts({ ...both, history: [limited] }))).toEqual([
      "rate_limited",
      "account_closed",
      "queued",
    ]);
    const rests = attempt({ retry_at: iso(5) });
    expect(codes(facts({ ...both, history: [rests] }))).toEqual([
      "account_closed",
      "resting",
      "queued",
    ]);
    expect(codes(facts({ ...both, state: "done" }))).toEqual(["done"]);
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

    test("names the chokes and the workers that may still try it", () => {
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

    test("with no worker left", () => {
      const reasons = explain(facts({ history: times("w", 3, handed), workers: [worker()] }));
      expect(reasons).toMatchObject([
        { code: "choked", text: expect.stringMatching(/; no other living worker is there to try/) },
        { code: "no_worker", text: "all live workers that take tasks of type t have choked on it" },
      ]);
    });

    test("given up in the queue: failed, not cancelled", () => {
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

  test("in the queue, with or without a worker that takes its type", () => {
    expect(codes(facts())).toEqual(["no_worker"]);
    expect(codes(facts({ workers: [worker({ types: ["other"] })] }))).toEqual(["no_worker"]);
    expect(codes(facts({ workers: [worker({ alive: false })] }))).toEqual(["no_worker"]);
    expect(codes(facts({ workers: [worker({ types: ["t"] })] }))).toEqual(["queued"]);
  });

  test("the workers of viv up that are parked or start again, in place of no worker", () => {
    const down = (name: string, more: Partial<DownWorker> = {}): DownWorker => ({
      ...{ name, state: "parked", note: "exit 1", types: null, command: "anew", ...more },
    });
    const parked = down("w-1");
    expect(explain(facts({ downWorkers: [parked, down("w-2", { types: ["other"] })] }))).toEqual([
      {
        code: "worker_down",
        text: "w-1 of viv up is parked: exit 1; it stays so until viv up is started anew:",
        command: "anew",
      },
    ]);
    const resting = down("w-1", { state: "resting" });
    const starting = down("w-2", { state: "starting", note: "" });
    expect(explain(facts({ downWorkers: [resting, starting] }))).toEqual([
      {
        code: "worker_down",
        text: "w-1 of viv up has ended, and starts again by itself: exit 1",
        command: "viv ps",
      },
      { code: "worker_down", text: "w-2 of viv up is starting", command: "viv ps" },
    ]);
    const paused = { by: "pia", at: iso(-5) };
    const both = facts({ workers: [worker({ paused })], downWorkers: [parked] });
    expect(codes(both)).toEqual(["paused", "worker_down"]);
    expect(codes(facts({ workers: [worker()], downWorkers: [parked] }))).toEqual(["queued"]);
    const other = down("w-1", { types: ["other"] });
    expect(codes(facts({ downWorkers: [other] }))).toEqual(["no_worker"]);
  });

  test("a heartbeat alone is no worker; a process or a claim is", () => {
    const shell = { process: "none" };
    expect(explain(facts({ workers: [worker(shell)] }))).toEqual([
      {
        code: "no_worker",
        text: "no worker process is known that takes tasks of type t; last seen: w (5s ago)",
        command: "viv work --handler COMMAND --types t",
      },
    ]);
    expect(codes(facts({ workers: [worker({ ...shell, claims: ["b"] })] }))).toEqual(["queued"]);
    const both = [worker(shell), worker({ name: "w2", process: "unknown" })];
    expect(explain(facts({ workers: both }))[0]?.text).toBe(
      "it is in the queue; w2 will take it in turn",
    );
  });

  test("the command is that of the route; a missing route is named", () => {
    const command = (route: RouteFact) => explain(facts({ route })).at(-1)?.command;
    expect(command({ kind: "routed", name: "t", asked: false })).toBe("viv work");
    expect(command({ kind: "routed", name: "t", asked: true })).toBe("viv work --types t");
    expect(command({ kind: "none" })).toBe("viv work --handler COMMAND --types t");
    const route: RouteFact = { kind: "missing", file: "/a/viv.toml" };
    expect(explain(facts({ route }))).toMatchObject([
      {
        code: "no_route",
        text: "there is no route for tasks of type t: add [handlers.t] or [handlers.default] to /a/viv.toml",
      },
      { code: "no_worker", command: "viv work --handler COMMAND --types t" },
    ]);
    const dotted = { task_id: "a", task_type: "a.b" } as Task;
    expect(explain(facts({ route, task: dotted }))[0]?.text).toContain('[handlers."a.b"]');
    expect(codes(facts({ route, workers: [worker()] }))).toEqual(["queued"]);
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
    expect(codes(facts({ state: "quarantined", reason: "not JSON" }))).toEqual(["quarantined"]);
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
