import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { VivError } from "../base/errors.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import type { Claim, Store } from "../queue/store.ts";
import { Attempt, type AttemptSettings, type ReadyRoute } from "./attempt.ts";
import type { WorkerHost } from "./host.ts";

/** How an attempt ends, on a machine that does what the test says; no real time. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DONE: Finished = {
  ...{ cause: "exit", exit: 0, signal: null, durationMs: 1, tail: "", dropped: 0 },
  survivors: [],
};

function scene(finished: Partial<Finished>, store: Partial<Store>) {
  const claim = { task: { task_id: "a", task_type: "t" }, worker: "w", token: "1", attempt: 1 };
  const errors: unknown[] = [];
  const running = { ref: null, finished: Promise.resolve({ ...DONE, ...finished }) };
  const start = vi.fn(() => running);
  const host = {
    cwd: "/",
    artifacts: { artifactOf: () => "", logOf: () => "", keepEvidence: () => "" },
    handlers: { start },
  };
  const attempt = new Attempt(
    claim as unknown as Claim,
    {
      handler: ["x"],
      workspace: "none",
      sandbox: [],
      env: {},
      folder: "/",
    } as unknown as ReadyRoute,
    {
      location: "/run",
      extension: () => null,
      claimMark: () => "mark",
      noteProcess: async () => {},
      forgetProcess: async () => {},
      ...store,
    } as Store,
    host as unknown as WorkerHost,
    { onError: (_, error) => void errors.push(error) } as AttemptSettings,
  );
  return { attempt, errors, start };
}

const PASSING = ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EIO", "EROFS"];

test.each(PASSING)("%s at the start is waited for, and the attempt is the first", async (code) => {
  const complete = vi.fn(
    async () => ({ id: "a", from: "claimed", to: "done", attempt: 1 }) as const,
  );
  const finished = { cause: "unstartable", exit: null, code, error: "too many" } as const;
  const { attempt, start } = scene({}, { complete } as unknown as Store);
  for (let i = 0; i < 3; i++) {
    start.mockReturnValueOnce({ ref: null, finished: Promise.resolve({ ...DONE, ...finished }) });
  }
  const ended = attempt.run();
  await vi.advanceTimersByTimeAsync(4_000);
  expect(await ended).toMatchObject({ kind: "ended", outcome: "done" });
  expect(start).toHaveBeenCalledTimes(4);
});

test("a start that stays impossible goes back without being counted", async () => {
  const fail = vi.fn(
    async () => ({ id: "a", from: "claimed", to: "waiting", attempt: 1 }) as const,
  );
  const finished = { cause: "unstartable", exit: null, code: "EMFILE", error: "too many" } as const;
  const { attempt, errors } = scene(finished, { fail } as unknown as Store);
  const ended = attempt.run();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await ended).toMatchObject({ kind: "ended", outcome: "rate_limited" });
  expect(fail).toHaveBeenCalledWith(
    expect.anything(),
    expect.not.objectContaining({ final: true }),
  );
  expect(errors).toHaveLength(1);
});

test("stopped while it waits for a start, it gives the task back", async () => {
  const release = vi.fn(
    async () => ({ id: "a", from: "claimed", to: "pending", attempt: 1 }) as const,
  );
  const finished = { cause: "unstartable", exit: null, code: "EAGAIN", error: "full" } as const;
  const { attempt } = scene(finished, { release } as unknown as Store);
  const ended = attempt.run();
  await vi.advanceTimersByTimeAsync(100);
  attempt.stop("the worker was stopped");
  expect(await ended).toMatchObject({ kind: "ended", outcome: "released" });
});

test("a program that is not there is a final failure", async () => {
  const fail = vi.fn(async () => ({ id: "a", from: "claimed", to: "failed", attempt: 1 }) as const);
  const finished = { cause: "unstartable", exit: null, code: "ENOENT", error: "gone" } as const;
  await scene(finished, { fail } as unknown as Store).attempt.run();
  expect(fail).toHaveBeenCalledWith(expect.anything(), expect.objectContaining({ final: true }));
});

test("an end that cannot be recorded is tried until it can, with one error", async () => {
  let tries = 0;
  const complete = async () => {
    if (++tries < 5) throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    return { id: "a", from: "claimed", to: "done", attempt: 1 } as const;
  };
  const { attempt, errors } = scene({}, { complete } as unknown as Store);
  const ended = attempt.run();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await ended).toMatchObject({ kind: "ended", outcome: "done" });
  expect(tries).toBe(5);
  expect(errors).toHaveLength(1);
});

test("a held end outlives the grace; on leave, the error names what would be lost", async () => {
  const full = new VivError("DISK_FULL", "the disk is full.");
  const complete = vi.fn(async () => {
    throw full;
  });
  const fail = vi.fn();
  const { attempt } = scene({}, { complete, fail } as unknown as Store);
  const ended = attempt.run().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  attempt.stop("the worker was stopped");
  await vi.advanceTimersByTimeAsync(60_000);
  const tries = complete.mock.calls.length;
  expect(tries).toBeGreaterThan(6);
  attempt.leave();
  const error = await ended;
  expect(error).toMatchObject({ code: "DISK_FULL" });
  expect(String(error)).toContain("viv complete a --worker w --token 1");
  expect(complete).toHaveBeenCalledTimes(tries + 1);
  expect(fail).not.toHaveBeenCalled();
});

test("a claim that was lost meanwhile is not tried for", async () => {
  const complete = vi.fn(async () => {
    throw new VivError("CLAIM_LOST", "it is another's now");
  });
  const { attempt } = scene({}, { complete } as unknown as Store);
  expect(await attempt.run()).toEqual({ kind: "lost" });
  expect(complete).toHaveBeenCalledTimes(1);
});
