import type { Io } from "./io.ts";
import type { Context, Operation } from "./operation.ts";
import { personIn } from "./person.ts";
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

/** Of commands that another viv starts: they end with it, however it ends. */
export const UNTIL_STDIN_CLOSES: Record<string, ExtraFlag> = {
  "until-stdin-closes": {
    kind: "boolean",
    describe: "stop as with SIGTERM when stdin closes",
    hidden: true,
  },
};

export type Values = Record<string, unknown>;

/** How a stream is shown to a person. What is null is not shown. */
// biome-ignore lint/suspicious/noExplicitAny: each command knows its own operation's events
export interface StreamView<E = any, O = any> {
  event(event: E): string | null;
  end?(output: O): string | null;
  /** It has ended, in whichever way: clears what was drawn. */
  close?(error?: unknown): void;
}

/** What a command adds to its operation: how it is typed and how its output is shown to people. */
export interface Command {
  op: Operation;
  /**
   * Input keys that may be given without their flag, in order; the last may take many. Needed: by the
   * operation, although its schema has another way to give it.
   */
  positionals?: readonly { key: string; many?: boolean; needed?: boolean }[];
  flags?: Record<string, ExtraFlag>;
  /** What stands for the value of an input in help, by its key. */
  placeholders?: Record<string, string>;
  /** Letters for inputs, by their keys. */
  shorts?: Record<string, string>;
  /**
   * Flags that are not called after their key: one name means the same in every command. The key's
   * own spelling still works, and is in no help.
   */
  names?: Record<string, string>;
  /** More spellings that work and are in no help: swarm-lib's, and what people type elsewhere. */
  aliases?: Record<string, string>;
  /** Another command that these flags mean; without surroundings, whatever those are. */
  instead?: (values: Values, io?: Pick<Io, "cwd" | "env">) => Promise<Command | undefined>;
  examples: readonly (readonly [command: string, what: string])[];
  /** Values for inputs that were not given. */
  defaults?: (io: Io) => Values;
  /** Text for a person. */
  // biome-ignore lint/suspicious/noExplicitAny: each command knows its own operation's output
  human?: (output: any, term: Term, io: Io) => string;
  /** For programs; one line of JSON unless said otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  json?: (output: any) => string;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  exit?: (output: any, io: Io, input: Values) => number;
  /** The bytes that come with the request, when they are not standard input. */
  inputFrom?: (input: Values, io: Io) => AsyncIterable<Uint8Array | string>;
  /** Of a stream. */
  view?: (term: Term, io: Io, context: Context, input: Values) => StreamView;
  /** Of a stream, for programs: one line of JSON for each event, and none for the output. */
  jsonView?: (io: Io, context: Context, input: Values) => StreamView;
  durabilityFor?: (input: Values) => "safe" | "fast" | undefined;
  /** When the run is somewhere else than --run says (init). */
  runFrom?: (input: Values, run: string | undefined) => string | undefined;
  /** Questions before the operation; the inputs with the answers. */
  ask?: (input: Values, io: Io) => Promise<Values>;
  /** It reads viv.toml by itself, which may have mistakes. */
  readsConfig?: boolean;
  after?: (output: unknown, input: Values, io: Io) => void;
}

/** The person who decides, unless a flag names another. */
export function byDefault({ env }: Pick<Io, "env">) {
  const by = personIn(env);
  return by ? { by } : {};
}
