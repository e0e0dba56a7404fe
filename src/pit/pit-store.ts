import type { TaskState } from "../queue/states.ts";
import { type Claim, extensionKey, type Store } from "../queue/store.ts";

/** A result that a snake put into done/ by hand; it counts once it is proven. */
export interface HandResult {
  id: string;
  /** The last snake seen with the food, if any was. */
  snake: string | null;
  /** Where the food is. `gone`: nowhere, but known; `unknown`: never seen. */
  state: TaskState | "gone" | "unknown";
  /** May it be taken for proof now, or counted, if it is `unknown`? */
  ready: boolean;
}

/** The names of processes that prove results begin so. */
export const PROVER = "sweep-";
const A_PROVER = new RegExp(`^${PROVER}\\d+$`);

/** Is it the name of a process that proves the results of others? It may be dead and forgotten. */
export function isProver(worker: string | undefined): boolean {
  return worker !== undefined && A_PROVER.test(worker);
}

/** The last signs of work on a claim, and since when they have not changed. */
export interface Progress {
  token: string;
  /** CPU time of its process tree, in ticks. */
  ticks: number;
  /** Size of its log. */
  bytes: number;
  since: number;
}

/** What the store of a pit offers beyond the queue. */
export interface PitStore {
  handResults(): Promise<HandResult[]>;
  /** Enters results of `unknown` food into the books: eaten, not proven. Returns their ids. */
  countUnknown(): Promise<string[]>;
  /** How many foods in done/ have no proof. */
  doneWithoutProof(): Promise<number>;
  /** Makes the food of such a result a claim of `worker`; null when that is not possible now. */
  takeForProof(id: string, worker: string): Promise<Claim | null>;
  /** Renames the result to one that is not proven, and returns the new name. */
  markUnproven(id: string): Promise<string | null>;
  /** Takes a claim back from a snake that is alive; null when it is no longer that claim. */
  reclaim(id: string, token: string, note: string): Promise<string | null>;
  readProgress(): Promise<Record<string, Progress>>;
  writeProgress(seen: Readonly<Record<string, Progress>>): Promise<void>;
  /** Files that are not, or no longer, food. */
  oddities(): Promise<{
    unproven: { id: string; name: string }[];
    quarantined: { name: string; from: string; reason: string }[];
  }>;
  /** One process at a time in the whole pit; null when another one is at it. */
  alone<T>(what: string, act: () => Promise<T>): Promise<T | null>;
}

export const PIT = extensionKey<PitStore>("pit");

export function pitOf(store: Pick<Store, "extension">): PitStore | null {
  return store.extension(PIT);
}
