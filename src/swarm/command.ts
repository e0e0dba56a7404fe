import type { TaskSpec } from "../queue/spec.ts";
import type { CheckpointUpdate } from "../queue/status.ts";
import type { Task } from "../queue/task.ts";
import type { Values } from "./values.ts";

/** What swarm-cli needs of the queue: a part of the Store, in its own words. */
export interface SwarmStore {
  readonly location: string;
  enqueue(spec: TaskSpec, options: { straightToPending: true }): Promise<{ warnings?: string[] }>;
  claim(request: {
    worker: string;
    types?: readonly string[];
    heartbeat: false;
  }): Promise<{ task: Task }[]>;
  complete(ref: { id: string; worker: string }): Promise<{ to: string; warnings?: string[] }>;
  fail(ref: { id: string; worker: string }): Promise<{ to: string; warnings?: string[] }>;
  heartbeat(worker: string, options: { note: string }): Promise<void>;
  reap(options: { staleAfterSeconds: number; heartbeatOnly: true }): Promise<{
    reaped: { worker: string; id: string; ageSeconds: number; to: string; reason: string }[];
    live: string[];
    stuck: { worker: string; id: string; pids: number[] }[];
  }>;
  sweep(): Promise<unknown>;
  initStatus(runId: string, update: CheckpointUpdate): Promise<unknown>;
  writeStatus(update: CheckpointUpdate): Promise<unknown>;
  flushStatus(): Promise<void>;
  source(id: string): Promise<string | null>;
  close(options: { warn: (sentence: string) => void }): Promise<void>;
}

/** Somewhere to write, and what is known about it when it is a terminal. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** The world around one call of swarm-cli. */
export interface Surroundings {
  /** Opens a run the way swarm-lib does: it is made when missing, but without a status.json. */
  open(path: string, options: { create: true; withoutStatus: true }): Promise<SwarmStore>;
  stdout: Output;
  stderr: Output;
  /** What `~` stands for. */
  home: string;
  /** Width of the usage text; the terminal's when left out. */
  columns?: number | undefined;
}

/** Carries out one command and returns its exit status. */
export type Verb = (values: Values, around: Surroundings) => Promise<number>;

export interface Option {
  /** With its two dashes. */
  flag: string;
  kind: "text" | "whole" | "switch";
  required?: true;
  help?: string;
}

export interface Command {
  name: string;
  help: string;
  options: readonly Option[];
  /** Flags of which exactly one must be given. */
  oneOf?: readonly string[];
  load(): Promise<Verb>;
}
