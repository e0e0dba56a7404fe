import { afterEach, beforeEach, expect } from "vitest";
import { isVivError, type VivError } from "../../base/errors.ts";
import type { LedgerLine } from "../ledger.ts";
import type { TaskState } from "../states.ts";
import type { Claim, ClaimProcess, ClaimRequest, Durability, Store } from "../store.ts";

/**
 * The suite's view of a store under test: a fresh run for each test, any number of processes that
 * open it, and a clock that only the test moves.
 */
export interface StoreHarness {
  /** Opens the run as a process of its own would. */
  open(options?: OpenAs): Promise<Store>;
  /** The process behind this store dies: no close, no release. */
  kill(store: Store): void;
  clock: {
    now(): number;
    /** Time passes. */
    advance(ms: number): void;
    /** The wall clock is set; no time passes. */
    jumpWall(ms: number): void;
  };
  /** Process trees of handlers, as far as the machine of this run can end them. */
  trees: {
    start(): ClaimProcess;
    isAlive(pid: number): boolean;
    /** From now on, it would not die. */
    makeStubborn(pid: number): void;
    /** It dies by itself. */
    die(pid: number): void;
    /** Lets a test look, or act, at the moment in which a tree is ended. */
    onEnd(act: (pid: number) => void): void;
  };
  /** A task that one worker alone has choked on stays pending, for a worker that comes later. */
  keepsLoneChokes?: boolean;
  cleanup(): Promise<void>;
}

export interface OpenAs {
  durability?: Durability;
  onDependencyFailed?: "wait" | "fail";
}

export type MakeHarness = () => Promise<StoreHarness>;

/** The harness of the current test. Each suite calls this once, inside its `describe`. */
export function useRun(make: MakeHarness): () => StoreHarness {
  let harness: StoreHarness | undefined;
  beforeEach(async () => {
    harness = await make();
  });
  afterEach(async () => {
    await harness?.cleanup();
    harness = undefined;
  });
  return () => {
    if (!harness) throw new Error("the harness is for use within a test");
    return harness;
  };
}

/** The error a call must end with; its code is checked, its details are returned. */
export async function refused(
  call: Promise<unknown>,
  code: VivError["code"],
): Promise<VivError["details"] & { message: string }> {
  let value: unknown;
  try {
    value = await call;
  } catch (error) {
    if (!isVivError(error)) throw error;
    expect(error.code, error.message).toBe(code);
    return { ...error.details, message: error.message };
  }
  throw new Error(`expected ${code}, but got ${JSON.stringify(value)}`);
}

/** Claims exactly one task. */
export async function claimOne(
  store: Store,
  worker = "w",
  request: Partial<ClaimRequest> = {},
): Promise<Claim> {
  const claims = await store.claim({ worker, ...request });
  expect(claims, `${worker} finds something to claim`).toHaveLength(1);
  return claims[0] as Claim;
}

export function refOf(claim: Claim): { id: string; worker: string; token: string } {
  return { id: claim.task.task_id, worker: claim.worker, token: claim.token };
}

export function idsOf(claims: readonly Claim[]): string[] {
  return claims.map((claim) => claim.task.task_id);
}

/** Claims one after the other until there is nothing left; the ids in the order they came. */
export async function drain(store: Store, worker = "w", types?: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const claims = await store.claim({ worker, types });
    if (claims.length === 0) return ids;
    ids.push(...idsOf(claims));
  }
}

export async function stateOf(store: Store, id: string): Promise<TaskState | "quarantined" | null> {
  return (await store.show(id))?.state ?? null;
}

export async function ledgerOf(store: Store, task?: string): Promise<LedgerLine[]> {
  const lines: LedgerLine[] = [];
  for await (const line of store.ledger({ task })) lines.push(line);
  return lines;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Brings a new task into each state a task can be in, and leaves it there. */
export async function bringInto(
  store: Store,
  id: string,
  state: TaskState,
  extra: { depends_on?: string[] } = {},
): Promise<void> {
  if (state === "waiting") {
    await store.enqueue({ id, type: "t", depends_on: ["not-there-yet"], ...extra });
    return;
  }
  await store.enqueue({ id, type: "t", review: state === "review", ...extra });
  if (state === "pending") return;
  // Its own worker, so that it is this one and no other that is claimed: the queue is empty else.
  const claim = await claimOne(store, `worker-of-${id}`);
  expect(claim.task.task_id).toBe(id);
  if (state === "done" || state === "review") await store.complete(refOf(claim));
  if (state === "failed") await store.fail(refOf(claim), { maxAttempts: 1 });
}
