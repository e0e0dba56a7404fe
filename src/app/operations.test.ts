import { describe, expect, it } from "vitest";
import type { Context } from "../operation/operation.ts";
import { ls, show, status } from "../overview/operations.ts";
import { why } from "../overview/why.ts";
import { claim, fail, heartbeat, release } from "../queue/operations/claims.ts";
import { doctor, init, reap } from "../queue/operations/maintenance.ts";
import { cancel, enqueue, reject, retry } from "../queue/operations/tasks.ts";
import type { Store } from "../queue/store.ts";
import { approve } from "../work/operations/approve.ts";
import { complete } from "../work/operations/complete.ts";

/** Operations hand on what they were given, and only that. */

const OPS = [
  ...[approve, cancel, claim, complete, doctor, enqueue, fail, heartbeat, init, ls, reap],
  ...[reject, release, retry, show, status, why],
];

const NOW = Date.parse("2026-11-15T08:00:00Z");

const artifacts = { pathOnThisHost: (name: string) => `/r/artifacts/${name}` };

/** A store with given answers that records its calls. */
function context(answers: Record<string, unknown>): { context: Context; asked: unknown[][] } {
  const asked: unknown[][] = [];
  const store = new Proxy(
    { runId: "r", location: "/r", folder: "/r", artifacts } as unknown as Store,
    {
      get: (target, name: string) => {
        if (name in target || name === "then") return target[name as keyof Store];
        return (...args: unknown[]) => {
          asked.push([name, ...args]);
          const answer = answers[name];
          return typeof answer === "function" ? answer(...args) : Promise.resolve(answer);
        };
      },
    },
  );
  const signal = new AbortController().signal;
  const use = async (port: { name: string }) => {
    if (port.name === "store") return store as never;
    throw new Error(`this operation has nothing to do with ${port.name}`);
  };
  const around = { now: () => NOW, signal, urgent: signal, input: nothing };
  return { context: { ...around, use, here: { cwd: "/", env: {} } }, asked };
}

const ENDED = { id: "t", from: "claimed", to: "done", attempt: 1 };

describe.each(OPS.map((op) => [op.name, op] as const))("%s", (_, op) => {
  it("refuses keys that it does not know", () => {
    expect(op.input.safeParse({ frobnicate: 1 }).success).toBe(false);
  });

  it("has a summary", () => {
    expect(op.summary).toMatch(/^[a-z][^.]+$/);
  });
});

describe("claim", () => {
  it("looks after the run and tries once more when there is nothing", async () => {
    let looks = 0;
    const task = { task_id: "t", task_type: "a", id: "t", type: "a" };
    const found = [{ task, worker: "w", token: "1", attempt: 1 }];
    const { context: c, asked } = context({
      claim: async () => (looks++ === 0 ? [] : found),
      sweep: { promoted: 1, adopted: 0, recovered: 0 },
    });
    expect(await claim.run(c, { worker: "w", types: ["a"], max: 2 })).toEqual({
      claims: [{ ...found[0], task: { id: "t", type: "a", task_id: "t", task_type: "a" } }],
      artifacts: ["/r/artifacts/t.md"],
    });
    const request = { worker: "w", types: ["a"], max: 2 };
    expect(asked).toEqual([["claim", request], ["sweep"], ["claim", request]]);
  });

  it("is content with nothing when there is nothing to look after", async () => {
    const { context: c, asked } = context({
      claim: [],
      sweep: { promoted: 0, adopted: 0, recovered: 0 },
    });
    expect(await claim.run(c, { worker: "w" })).toEqual({ claims: [], artifacts: [] });
    expect(asked).toEqual([["claim", { worker: "w" }], ["sweep"], ["paused"]]);
  });
});

describe("the end of an attempt", () => {
  it.each([complete, release])("names the claim by its token if there is one", async (op) => {
    const { context: c, asked } = context({ [op.name]: ENDED });
    await op.run(c, { id: "t", worker: "w" });
    await op.run(c, { id: "t", worker: "w", token: "1", note: "n" });
    expect(asked.filter(([name]) => name === op.name)).toEqual([
      [op.name, { id: "t", worker: "w" }, {}],
      [op.name, { id: "t", worker: "w", token: "1" }, { note: "n" }],
    ]);
  });

  it("fail reads times from now", async () => {
    const { context: c, asked } = context({ fail: ENDED });
    await fail.run(c, { id: "t", worker: "w", token: "1" });
    await fail.run(c, {
      id: "t",
      worker: "w",
      note: "n",
      outcome: "rate_limited",
      fingerprint: "f",
      retry_at: "+20m",
      final: true,
    });
    expect(asked).toEqual([
      ["fail", { id: "t", worker: "w", token: "1" }, {}],
      [
        "fail",
        { id: "t", worker: "w" },
        {
          note: "n",
          outcome: "rate_limited",
          fingerprint: "f",
          final: true,
          retryAt: "2026-11-15T08:20:00.000Z",
        },
      ],
    ]);
    await expect(fail.run(c, { id: "t", worker: "w", retry_at: "soon" })).rejects.toMatchObject({
      code: "INVALID",
    });
  });
});

describe("decisions", () => {
  it.each([cancel, retry, approve, reject])("are made one by one, in order", async (op) => {
    const { context: c, asked } = context({ [op.name]: ENDED });
    const { tasks } = await op.run(c, { ids: ["a", "b"], by: "pia", note: "n" });
    const ended = op === cancel ? { ...ENDED, to: "cancelled" } : ENDED;
    expect(tasks).toEqual([ended, ended]);
    const decided = { by: "pia", note: "n", ...(op === approve ? { unproven: false } : {}) };
    expect(asked.filter(([name]) => name === op.name)).toEqual([
      [op.name, "a", decided],
      [op.name, "b", decided],
    ]);
    expect(op.input.safeParse({ ids: [] }).success).toBe(false);
  });
});

describe("status", () => {
  const answers = { writeStatus: {}, counts: {}, workers: [], readStatus: null };

  it("writes only when there is something to write", async () => {
    const { context: c, asked } = context(answers);
    await status.run(c, {});
    expect(asked.map(([name]) => name)).not.toContain("writeStatus");
  });

  it("writes what is given, and an empty next task is none", async () => {
    const { context: c, asked } = context(answers);
    await status.run(c, { summary: "s", next_task_id: "", metadata: '{"a":1}' });
    expect(asked[0]).toEqual([
      "writeStatus",
      { summary: "s", next_task_id: null, metadata: { a: 1 } },
    ]);
  });
});

describe("ls", () => {
  it("shows what is in work first and what is done last, fifty at most", async () => {
    const { context: c, asked } = context({ list: async function* () {}, counts: {}, workers: [] });
    await ls.run(c, {});
    await ls.run(c, { state: ["failed"], types: ["a"], limit: 3 });
    const words = "review claimed pending waiting failed cancelled done failed".split(" ");
    const lists = asked.filter(([name]) => name === "list").map(([, query]) => query);
    expect(lists).toMatchObject(
      words.map((word) => ({
        states: [word === "cancelled" ? "failed" : word],
        ...(/failed|cancelled/.test(word) ? { cancelled: word === "cancelled" } : {}),
      })),
    );
    expect(lists.slice(0, -1)).toMatchObject(Array(7).fill({ limit: 50, sorted: true }));
    expect(lists.at(-1)).toMatchObject({ limit: 3, types: ["a"], sorted: true });
  });
});

describe("reap", () => {
  it("sweeps as well", async () => {
    const { context: c, asked } = context({
      reap: { reaped: [], live: [], skipped: [] },
      sweep: { promoted: 1, adopted: 2, recovered: 3 },
    });
    expect(await reap.run(c, { stale_after: 0 })).toEqual({
      reaped: [],
      live: [],
      skipped: [],
      promoted: 1,
      adopted: 2,
      recovered: 3,
    });
    expect(asked).toEqual([
      ["reap", { staleAfterSeconds: 0 }],
      ["sweep", { thorough: true }],
    ]);
  });
});

async function* nothing(): AsyncGenerator<never> {}
