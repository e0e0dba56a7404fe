import { VivError } from "../base/errors.ts";
import { lastLines } from "../base/text.ts";
import type {
  Engine,
  EngineCommand,
  EngineExit,
  EngineRequest,
  EngineResult,
  Step,
} from "./engine.ts";
import { brief, MAX_TEXT, textStep } from "./vendors/event-reader.ts";

/** Any command: the prompt on its stdin, the answer on its stdout. Its usage is unknown. */
export const execEngine: Engine = {
  name: "exec",
  binary: "",
  reportsDollars: "never",
  command,
  reader: () => new ExecReader(),
};

function command({ prompt, model, mode, settings }: EngineRequest): EngineCommand {
  if (settings.binary === null) {
    throw new VivError("INVALID", "The engine exec needs a command: set `binary` to it.");
  }
  if (mode === "plan") {
    throw new VivError(
      "INVALID",
      "The engine exec cannot keep a command from writing: use another engine for plan mode, or put the route into a sandbox and use mode edit.",
    );
  }
  const env = model === null ? undefined : { VIV_MODEL: model };
  return { argv: [settings.binary, ...settings.flags], stdin: prompt, env };
}

/** The lines of an endless output that become steps. */
const MAX_LINES = 500;

class ExecReader {
  readonly session = null;
  #text = "";
  #lines = 0;

  get isFull(): boolean {
    return this.#text.length >= MAX_TEXT && this.#lines > MAX_LINES;
  }

  line(text: string): Step[] {
    if (this.#text.length < MAX_TEXT) {
      this.#text = `${this.#text}${text}\n`.slice(0, MAX_TEXT);
    }
    if (text.trim() === "" || ++this.#lines > MAX_LINES) return [];
    if (this.#lines < MAX_LINES) return [textStep("text", text)];
    return [{ kind: "notice", text: "further lines are in the answer, and no longer shown" }];
  }

  end(exit: EngineExit): EngineResult {
    const text = this.#text.trimEnd();
    return { outcome: outcomeOf(exit), text, session: null, usage: null, unknown: 0 };
  }
}

/** sysexits.h: EX_TEMPFAIL, as with every handler. */
const TRY_LATER = 75;

function outcomeOf(exit: EngineExit): EngineResult["outcome"] {
  if (exit.exit === 0) return { kind: "done" };
  if (exit.wasEnded) return { kind: "cut_off", message: "it was ended before it was done" };
  if (exit.exit === TRY_LATER) {
    return { kind: "rate_limited", message: "it asks to be tried again later", until: null };
  }
  const how = exit.signal === null ? `exited with ${exit.exit}` : `was ended by ${exit.signal}`;
  const why = lastLines(exit.stderr, 2).join(" ");
  return { kind: "failed", message: brief(why === "" ? `it ${how}` : `it ${how}: ${why}`, 500) };
}
