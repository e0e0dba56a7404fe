/** Types of referee.mjs, which is plain JavaScript so that it runs by itself. */

export type Kind =
  | "lost"
  | "two places"
  | "counted twice"
  | "overlapping"
  | "refused"
  | "charged"
  | "asleep"
  | "hung"
  | "bug"
  | "orphans"
  | "growth"
  | "doctor";

export interface Crime {
  kind: Kind;
  id: string;
  text: string;
}

export interface Place {
  state: string;
  worker?: string;
}

/** A command and its answer; `status` null: it was killed, and nobody got one. */
export interface Operation {
  n: number;
  verb: string;
  begin: number;
  end: number;
  status: number | null;
  code?: string | null;
  message?: string;
  /** How the attempt that it ended came out, if it says so. */
  outcome?: string | undefined;
  /** Which client it was, in all its tries. */
  who?: string;
  id?: string;
  token?: string;
  worker?: string;
  to?: string;
  by?: string;
  mark?: string;
  /** Where the task was right after the answer. */
  after?: Place | null;
  /** The ids that it acknowledged. */
  enqueued?: string[];
  refusals?: { id: string; code: string; after: Place | null }[];
  hung?: unknown;
}

export interface Entry {
  what: "begin" | "end" | "proof";
  id: string;
  token: string;
  pid?: number;
  at?: number;
  attempt?: number;
  previous?: string | null;
  kind?: string;
  worker?: string;
  exit?: number;
}

export interface World {
  places: Map<string, Place[]>;
  marks: Map<string, string[]>;
  tasks: Map<string, { depends_on?: string[] }>;
  ledger: Record<string, unknown>[];
  completed: string[];
  journal: Entry[];
  operations: Operation[];
  acknowledged: {
    worker: string;
    id: string;
    attempt: number;
    outcome: string;
    to?: string;
    at: number;
  }[];
  strikes: { worker: string; what: string; at: number }[];
  staleSeconds: number;
}

export const KINDS: Record<Kind, string>;
export function judge(world: World): Crime[];
