import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Finished } from "../../host/handlers.ts";
import { VivError } from "../../model/errors.ts";
import type { Claim, Store } from "../../store/store.ts";
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
  const troubles: unknown[] = [];
  const running = { ref: null, finished: Promise.resolve({ ...DONE, ...finished }) };
  const host = {
    cwd: "/",
    evidence: { artifactOf: () => "", logOf: () => "", keep: () => "" },
    handlers: { start: () => running },
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
      pit: null,
      noteProcess: async () => {},
      forgetProcess: async () => {},
      ...store,
    } as Store,
    host as unknown as WorkerHost,
    { onTrouble: (_, error) => void troubles.push(error) } as AttemptSettings,
  );
  return { attempt, troubles };
}

test.each(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"])(
  "%s is no fault of the task: it is tried again, and does not count",
  async (code) => {
    const fail = vi.fn(
      async () => ({ id: "a", from: "claimed", to: "waiting", attempt: 1 }) as const,
    );
    const finished = { cause: "unstartable", exit: null, code, error: "too many" } as const;
    const { attempt } = scene(finished, { fail } as unknown as Store);
    expect(await attempt.run()).toMatchObject({ kind: "ended", outcome: "rate_limited" });
    expect(fail).toHaveBeenCalledWith(
      expect.anything(),
      expect.not.objectContaining({ final: true }),
    );
  },
);

test("a program that is not there is a final failure", async () => {
  const fail = vi.fn(async () => ({ id: "a", from: "claimed", to: "failed", attempt: 1 }) as const);
  const finished = { cause: "unstartable", exit: null, code: "ENOENT", error: "gone" } as const;
  await scene(finished, { fail } as unknown as Store).attempt.run();
  expect(fail).toHaveBeenCalledWith(expect.anything(), expect.objectContaining({ final: true }));
});

test("an end that cannot be recorded is tried until it can, and is told once", async () => {
  let tries = 0;
  const complete = async () => {
    if (++tries < 5) throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    return { id: "a", from: "claimed", to: "done", attempt: 1 } as const;
  };
  const { attempt, troubles } = scene({}, { complete } as unknown as Store);
  const ended = attempt.run();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await ended).toMatchObject({ kind: "ended", outcome: "done" });
  expect(tries).toBe(5);
  expect(troubles).toHaveLength(1);
});

test("a claim that was lost meanwhile is not tried for", async () => {
  const complete = vi.fn(async () => {
    throw new VivError("CLAIM_LOST", "it is another's now");
  });
  const { attempt } = scene({}, { complete } as unknown as Store);
  expect(await attempt.run()).toEqual({ kind: "lost" });
  expect(complete).toHaveBeenCalledTimes(1);
});
