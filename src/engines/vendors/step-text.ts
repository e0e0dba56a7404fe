import type { Step } from "../engine.ts";
import { type JsonObject, stringAt, stripCodes } from "./json-line.ts";

/** What a step may hold: one line that fits a terminal, and nothing that steers one. */
const MAX_BRIEF = 200;

/** What a run's answer may hold; a vendor that never stops talking is cut there. */
export const MAX_TEXT = 4_000_000;

/** Lines and events nobody knows are all counted, and the first ones are told. */
const MAX_NOTICES = 20;

export function brief(text: string, max = MAX_BRIEF): string {
  const line = stripCodes(beginning(text, max * 8))
    .replace(UNSEEN, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= max) return line;
  // Not between the halves of a character beyond the first 65,536.
  return `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** A copy: a piece of a string keeps the whole of it in memory, and a line may be huge. */
function beginning(text: string, length: number): string {
  return text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();
}

/** C1 controls, line separators, and what turns the direction of a text around. */
const UNSEEN = /[\u0080-\u009f\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function textStep(kind: "text" | "thought" | "notice", text: string): Step {
  return { kind, text: brief(text) };
}

export function toolStep(tool: string, target: string | null): Step {
  const name = brief(tool, 80);
  return target === null || target === ""
    ? { kind: "tool", tool: name }
    : { kind: "tool", tool: name, target: brief(target) };
}

/** What a tool is called on, by the names the vendors give it, the most telling first. */
const TARGET_KEYS = [
  "file_path",
  "filePath",
  "absolute_path",
  "notebook_path",
  "path",
  "dir_path",
  "command",
  "pattern",
  "query",
  "url",
  "description",
  "prompt",
  "name",
];

export function targetOf(input: JsonObject | null): string | null {
  for (const key of TARGET_KEYS) {
    const value = stringAt(input, key);
    if (value !== null && value !== "") return value;
  }
  return null;
}

/** Lines that are no events, and events of a kind nobody knows: kept, counted, never fatal. */
export class Unknowns {
  count = 0;
  /** The last lines that were no events: where a vendor says why it did not start. */
  readonly lastLines: string[] = [];

  line(text: string): Step[] {
    const said = brief(text);
    if (said === "") return [];
    this.lastLines.push(said);
    if (this.lastLines.length > 5) this.lastLines.shift();
    return this.#notice(said);
  }

  event(type: string | null): Step[] {
    return this.#notice(`unknown event ${brief(type ?? "without a type", 80)}`);
  }

  #notice(text: string): Step[] {
    this.count++;
    if (this.count > MAX_NOTICES) return [];
    const steps: Step[] = [{ kind: "notice", text }];
    if (this.count === MAX_NOTICES) {
      steps.push({ kind: "notice", text: "more such lines are counted, and no longer shown" });
    }
    return steps;
  }
}
