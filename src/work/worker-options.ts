import type { ClosedTypes } from "../engines/accounts/closed-types.ts";
import type { EngineSlots } from "../engines/engine-slots.ts";
import type { Claim, ReapReport } from "../queue/store.ts";
import type { AttemptSettings, ReadyRoute } from "./attempt.ts";
import type { AttemptEnd } from "./ending.ts";

/** The options and events of a worker: see worker.ts. */
export interface WorkerOptions extends AttemptSettings {
  worker: string;
  /** A name for each slot, where a layout allows one claim per name. */
  slotNames?: readonly string[];
  /** Null: any type that has a route. */
  types: readonly string[] | null;
  routeFor(type: string): ReadyRoute | undefined;
  concurrency: number;
  maxTasks?: number;
  drain?: boolean;
  graceMs?: number;
  /** The longest sleep between two polls. */
  pollMs: number;
  heartbeatMs: number;
  reapEveryMs: number;
  reviewLimit?: number;
  /** The types that may not be claimed now: their account is closed, or the budget is used up. */
  closedTypes?: () => ClosedTypes;
  /** Slots of the machine's gate, for attempts with an engine. */
  slots?: EngineSlots;
  /** Updates what `closedTypes` reads. */
  beforeClaim?: () => Promise<void>;
  /** Called when claims of dead workers were taken back. */
  onReaped?: (report: ReapReport) => void;
  /** The most claims that the budget has room for. */
  mostAtOnce?: () => number;
  onEvent?: (event: WorkerEvent) => void;
}

/** How the landing of a done task stands. */
export interface BesideEvent {
  id: string;
  landing: string;
  target: string;
  commit?: string;
  note?: string;
}

/** What runs beside a worker. */
export interface Beside {
  /** Resolves when nothing is left to do for now. A worker that drains waits for it. */
  settle?(): Promise<void>;
  /** The worker has other options. */
  update?(): void;
  stop(): Promise<void>;
}

export type WorkerEvent =
  | { kind: "started"; worker: string; types: readonly string[] | null }
  | { kind: "claimed"; claim: Claim }
  | { kind: "ended"; claim: Claim; end: AttemptEnd; durationMs: number }
  | { kind: "trouble"; error: unknown; claim?: Claim }
  /** The reasons why some types are not claimed, when they change. */
  | { kind: "held"; reasons: readonly string[] }
  /** The proof of a result that was made by hand. */
  | { kind: "proven"; result: ProvenResult }
  | { kind: "landing"; landing: BesideEvent }
  /** viv.toml has changed, and counts from the next claim on; `notes`: what of it does not. */
  | { kind: "reloaded"; file: string; notes: readonly string[] }
  | { kind: "stopping"; running: number };

export interface ProvenResult {
  id: string;
  /** The worker that was last seen with the task. */
  snake: string | null;
  /** `eaten`: done, and no proof was asked for. Else `proven`, `review`, `lost`, or a failed outcome. */
  how: string;
  note?: string;
  /** The new name of a result whose proof failed. */
  unproven?: string;
}

export interface WorkerReport {
  attempts: number;
  done: number;
  /** Proven attempts whose tasks wait for a person. */
  review: number;
  /** Attempts that ended in another way. */
  other: number;
}
