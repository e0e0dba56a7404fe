import type { AskedPrograms, ProcessEnd, SeenProcess, WorkSample } from "../dance.ts";
import type { Question } from "../question.ts";
import type { Bound, Warrant } from "../warrant.ts";

/** How the warden finds the target of a warrant. Implementations: tmux sessions, processes. */
export interface Suspects {
  /**
   * The target of this warrant: the one it was bound to, or, where it was not, the one of that name.
   * Never another: a younger one than the warrant was not meant.
   */
  find(warrant: Warrant): Promise<Found>;
  /** Of a target that is gone: ends these very processes, and what they have started. */
  endLeft(left: readonly SeenProcess[], options: { killAfterMs: number }): Promise<Ended>;
}

export type Found =
  | { is: "there"; suspect: Suspect }
  | { is: "gone"; why: string }
  /** It cannot be identified, or the warden belongs to it: nothing may be done. */
  | Unknown;

/** `isReplaced`: it is gone for sure; but another has its name by now. */
export interface Unknown {
  is: "unknown";
  why: string;
  isReplaced?: boolean;
}

/** One target, bound for good. Nothing of it is done to another that has its name or number. */
export interface Suspect {
  readonly bound: Bound;
  look(): Promise<Look>;
  /** The programs that a question would be put to now. Written down before it is. */
  programs?(): Promise<AskedPrograms>;
  /** Once for a nonce, also after a restart or by another warden. */
  ask(question: Question, programs?: AskedPrograms): Promise<Asked>;
  /** Work of its children so far, and a file of its that changed after `since` (a time). */
  work(since: number): Promise<Work>;
  /** Closes a session that nothing but a shell is left in. False when that is not so any more. */
  closeShell?(): Promise<boolean>;
  /** Calls back when it may be worth looking. A hint: it may be late or missing. */
  watch(act: () => void): void;
  /** All that belongs to it now, and what of `known` still lives. Grows: a process that left the tree stays known. */
  tree(known: readonly SeenProcess[]): SeenProcess[];
  /**
   * Asks, kills, and looks until nothing is left, or it gives up. Nothing is signalled if anything
   * would be ended that the question was not put to (`asked`).
   */
  end(known: readonly SeenProcess[], options: EndOptions): Promise<Ended>;
  /** Takes these questions out of its terminals, as far as nothing has read them. */
  takeBack?(questions: readonly Question[]): Promise<void>;
  /** Lets go of everything that was opened for it. */
  close(): void;
}

export interface EndOptions {
  killAfterMs: number;
  /** What the last question was put to. */
  asked: AskedPrograms | undefined;
  /** It may have been signalled before a restart: what is left of `known` may be ended, and nothing else. */
  isResumed: boolean;
}

export type Look =
  | {
      is: "there";
      /** The last lines of its terminal; none if it has none. */
      screen: string[];
      /** Those of them that are its own words: without the input box of a known agent, and its footer. */
      said?: string[];
      /** A line that it says in its own words begins with this. Missing: any line may be one. */
      speaks?: RegExp;
      /** It waits for a person, and for what. */
      person?: string;
      /** It holds a question back until its turn ends. */
      isQueued?: boolean;
      /** The terminals beside the one that is asked: work there counts, too. */
      beside?: string[];
      /** Sizes of the watched files. */
      files: Record<string, number>;
      /** Nonces that were answered beside the terminal (`viv alive`). */
      answers: string[];
    }
  | { is: "gone"; why: string }
  | { is: "unknown"; why: string };

export type Asked =
  /** `except`: what else belongs to it, and could not be asked. */
  | {
      is: "asked";
      channel: string;
      arrived: boolean;
      submitted: boolean;
      except?: string;
    }
  /** It would be run as a command, or would answer something else, or never reached its input. */
  | { is: "refused"; why: string }
  /** A dialog, a password: it is not stuck, it needs a person. */
  | { is: "waits"; why: string }
  /** Its agent has ended: nothing but a shell is left there. */
  | { is: "left"; why: string }
  | { is: "gone"; why: string }
  | { is: "unknown"; why: string };

export interface Work {
  processes: WorkSample[];
  /** The file, or null. */
  changed: string | null;
}

export interface Ended {
  exit: ProcessEnd[];
  survivors: number[];
  /** Set when it cannot be identified (any more); `exit` names the processes that were signalled before that. */
  unknown?: string;
  /** What was left alone, because it was not asked, or belongs to others. */
  spared?: string;
}
