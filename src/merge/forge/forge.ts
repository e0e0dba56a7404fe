import { VivError } from "../../base/errors.ts";
import { definePort, type Env } from "../../operation/operation.ts";
import type { ProgramAnswer, ProgramRequest } from "../../platform/processes/ask-program.ts";

/** The two programs that speak to a forge, with the login that their user gave them. */
export const FORGES = ["gh", "glab"] as const;
export type ForgeName = (typeof FORGES)[number];

/** Where a repository lies on a forge. */
export interface Place {
  /** Null: the program's own default, for an ssh alias or a path that names no host. */
  host: string | null;
  /** `owner/name`; on GitLab `group/subgroup/name`. */
  path: string;
}

export interface NewPullRequest {
  branch: string;
  base: string;
  title: string;
  body: string;
  draft: boolean;
}

export type PullRequestState = "open" | "merged" | "closed";

export interface PullRequest {
  number: number;
  url: string;
  state: PullRequestState;
  /** The commit of its branch that the forge has. */
  head: string;
  base: string;
  /** The commit that brought it in; only of a merged one, and not of every forge. */
  commit?: string;
}

export interface Check {
  name: string;
  state: "passed" | "failed" | "running" | "unknown";
  url?: string;
}

export interface Comment {
  /** Of the forge; never used again. */
  id: string;
  author: string;
  /** Its author may write to the repository, by what the forge says. */
  isTrusted: boolean;
  /** It asks for a change: a review that requests one, or an open thread at a line. */
  asks: boolean;
  body: string;
  url?: string;
  path?: string;
  line?: number;
}

export interface PullRequestView extends PullRequest {
  /** The forge cannot merge it by itself. */
  hasConflict: boolean;
  checks: Check[];
  /** Without those of resolved threads. */
  comments: Comment[];
}

export interface Issue {
  number: number;
  url: string;
  title: string;
  body: string;
  author: string;
  labels: string[];
  /** Its author may write to the repository, or another person set the label. */
  isTrusted: boolean;
}

/** What viv needs of a forge. Each method is one question or one change; none repeats itself. */
export interface Forge {
  readonly name: ForgeName;
  readonly place: Place;
  /** All pull requests of a branch of this repository, the newest first. */
  pullRequestsOf(branch: string): Promise<PullRequest[]>;
  create(request: NewPullRequest): Promise<PullRequest>;
  view(number: number): Promise<PullRequestView>;
  /** Open ones with the label, at most `limit`. */
  issues(label: string, limit: number): Promise<Issue[]>;
  /** The texts of an issue's comments. */
  commentsOf(issue: number): Promise<string[]>;
  comment(issue: number, body: string): Promise<void>;
}

export type ForgeRequest = Omit<ProgramRequest, "env" | "timeoutMs"> & { env?: Env };

/** The machine's side: the programs, and how one is run. */
export interface ForgeHost {
  env: Env;
  now(): number;
  /** Its path, or null when it is not installed. */
  find(program: ForgeName): string | null;
  /** `env`: on top of the user's. */
  run(request: ForgeRequest): Promise<ProgramAnswer>;
  /** A text of the user's; INVALID when it cannot be read. */
  readText(path: string): string;
}

export const forgePort = definePort<ForgeHost>("forge");

/**
 * Nothing is wrong with the request, but the forge cannot be asked now: no network, no login, a rate
 * limit, a bad answer. `unsure`: a change may have been made all the same. `isOne`: only this task is
 * held, and the next may be tried. `isRemote`: the git remote cannot be read, and others may be.
 */
export function held(
  sentence: string,
  details: {
    until?: string;
    unsure?: boolean;
    isOne?: boolean;
    isRemote?: boolean;
    command?: string;
  } = {},
): VivError {
  return new VivError("UNSUPPORTED", sentence, { held: true, ...details });
}

export function isHeld(error: unknown): error is VivError {
  return error instanceof VivError && error.details.held === true;
}

export function isUnsure(error: unknown): boolean {
  return isHeld(error) && error.details.unsure === true;
}
