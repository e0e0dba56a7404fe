import type { Config } from "../base/section.ts";
import type { Durability } from "../queue/operations/store-types.ts";
import type { Io } from "./io.ts";
import type { Access, FreeContext, Op, OpContext } from "./op.ts";
import type { Term } from "./term.ts";

/** A flag that is not an input of the operation. */
export interface ExtraFlag {
  kind: "string" | "boolean";
  describe: string;
  short?: string;
  placeholder?: string;
  /** For viv itself: it works, and is in no help. */
  hidden?: boolean;
}

/** What a command adds to its operation: how it is typed and how its output is shown to people. */
export interface Command {
  op: Op;
  /** Input keys that may be given without their flag, in order; the last may take many. */
  positionals?: readonly { key: string; many?: boolean }[];
  flags?: Record<string, ExtraFlag>;
  /** What stands for the value of an input in help, by its key. */
  placeholders?: Record<string, string>;
  /** Letters for inputs, by their keys. */
  shorts?: Record<string, string>;
  /** Another command that these flags mean. */
  instead?: (values: Record<string, unknown>) => Promise<Command | undefined>;
  examples: readonly (readonly [command: string, what: string])[];
  /** Values for inputs that were not given. */
  defaults?: (io: Io) => Record<string, unknown>;
  /** Text for a person. */
  // biome-ignore lint/suspicious/noExplicitAny: each command knows its own operation's output
  human?: (output: any, term: Term, io: Io) => string;
  /** For programs; one line of JSON unless said otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  json?: (output: any) => string;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  exit?: (output: any) => number;
  /** Instead of running the operation: for streams. Returns the exit status. */
  stream?: (
    context: OpContext,
    input: Record<string, unknown>,
    io: Io,
    json: boolean,
    config: Config | undefined,
  ) => Promise<number>;
  /** The same, for an operation that needs no run. */
  freeStream?: (
    context: FreeContext,
    input: Record<string, unknown>,
    io: Io,
    json: boolean,
  ) => Promise<number>;
  /** True when these flags mean `stream`, and the operation otherwise. */
  streams?: (input: Record<string, unknown>) => boolean;
  /** How the run must be opened, when that depends on the flags. */
  accessFor?: (input: Record<string, unknown>) => Access;
  durabilityFor?: (input: Record<string, unknown>) => Durability | undefined;
  /** When the run is somewhere else than --run says (init). */
  runFrom?: (input: Record<string, unknown>, run: string | undefined) => string | undefined;
  after?: (output: unknown, input: Record<string, unknown>, io: Io) => void;
}
