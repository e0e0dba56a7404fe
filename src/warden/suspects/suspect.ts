import type { AskedPrograms, ProcessEnd, SeenProcess, WorkSample } from "../dance.ts";
import type { Question } from "../question.ts";
import type { Bound, Warrant } from "../warrant.ts";

/** Finds the targets of warrants: tmux sessions and processes. */
export interface Suspects {
  /**
   * The target that the warrant is bound to or, if unbound, the one of that name. Never another: one
   * that is younger than the warrant was not meant.
   */
  find(warrant: Warrant): Promise<Found>;
  /** Of a target that is gone: ends these very processes, and what they have started. */
  endLeft(left: readonly SeenProcess[], options: { killAfterMs: number }): Promise<Ended>;
}

export type Found = { is: "there"; suspect: Suspect } | Missing;

/** "unknown": it cannot be identified, or the warden belongs to it; nothing may be done. */
export type Missing = { is: "gone"; why: string } | Unknown;

/** `isReplaced`: it is gone for sure, but another has its name by now. */
export interface Unknown {
  is: "unknown";
  why: string;
  isReplaced?: boolean;
}

/** One target, bound for good. Nothing is done to another that has its name or number. */
export interface Suspect {
  readonly bound: Bound;
  look(): Promise<Look>;
  /** The programs that a question would be put to now. Written down before it is. */
  programs?(): Promise<AskedPrograms>;
  /** Once for a nonce, also after a restart or by another warden. */
  ask(question: Question, programs?: AskedPrograms): Promise<Asked>;
  /** Work of its children so far, and a file of its that changed after `since` (a time). */
  work(since: number): Promise<Work>;
  /** Closes a session in which only a shell is left. False when that is not so any more. */
  closeShell?(): Promise<boolean>;
  /** Calls back when a look may be worthwhile. A hint: it may be late or missing. */
  watch(act: () => void): void;
  /** Its processes now, and those of `known` that still live: one that left the tree stays known. */
  tree(known: readonly SeenProcess[]): SeenProcess[];
  /**
   * SIGTERM, then SIGKILL, until nothing is left or it gives up. No signal is sent if a process would
   * be ended that the question was not put to (`asked`).
   */
  end(known: readonly SeenProcess[], options: EndOptions): Promise<Ended>;
  /** Removes these questions from its terminals, as far as no program has read them. */
  takeBack?(questions: readonly Question[]): Promise<void>;
  close(): void;
}

export interface EndOptions {
  killAfterMs: number;
  asked: AskedPrograms | undefined;
  /** It may have been signalled before a restart: only what is left of `known` may be ended. */
  isResumed: boolean;
}

export interface There {
  is: "there";
  /** The last lines of its terminal; none if it has none. */
  screen: string[];
  /** Its own words among them: without the input box and footer of a known agent. */
  said?: string[];
  /** The begin of a line of its own words. Missing: any line may be one. */
  speaks?: RegExp;
  /** It waits for a person: in words, after its name. */
  person?: string;
  isQueued?: boolean;
  /** Lines of the session's other terminals: work there counts, too. */
  beside?: string[];
  files: Record<string, number>;
  /** Nonces that were answered by `viv alive`. */
  answers: string[];
}

export type Look = There | Missing;

export type Asked =
  /** `except`: panes and processes of it that could not be asked. */
  | { is: "asked"; channel: string; except?: string }
  /** The text would be a command, or answer another question, or did not reach its input. */
  | { is: "refused"; why: string }
  /** A dialog, a password: it is not stuck, it needs a person. */
  | { is: "waits"; why: string }
  /** Its agent has ended, and only a shell is left there. */
  | { is: "left"; why: string }
  | Missing;

export interface Work {
  processes: WorkSample[];
  changed: string | null;
}

export interface Ended {
  exit: ProcessEnd[];
  survivors: number[];
  /** It cannot be identified (any more); `exit` has the processes that were signalled before. */
  unknown?: string;
  /** Left alone because it was not asked, or belongs to others. */
  spared?: string;
}
