import type { Context, Env } from "../../operation/operation.ts";
import { definePort } from "../../operation/operation.ts";
import type { Term } from "../../operation/term.ts";

export interface Size {
  columns: number;
  rows: number;
}

/** A terminal that is drawn on as a whole. */
export interface Screen {
  readonly color: Term["color"];
  readonly isUtf8: boolean;
  readonly size: Size;
  /** Takes the terminal: the shell's screen comes back with `close`, and at the end of the process. */
  open(on: {
    input: (text: string) => void;
    resize: () => void;
    /** It was taken anew, after a stop in a shell: nothing is drawn. */
    resume: () => void;
  }): void;
  write(text: string): void;
  /** Stops the process, as Ctrl-Z does elsewhere. */
  suspend(): void;
  close(): void;
}

/** What app hands to `viv top`. */
export interface TopHost {
  /** Null: not on a terminal. */
  screen(env: Env): Screen | null;
  /** The answer of an operation of another room; null where there is no such thing here. */
  ask(operation: "crew ps" | "ps", context: Context): Promise<unknown>;
}

export const topPort = definePort<TopHost>("top");
