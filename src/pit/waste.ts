import { lastLines } from "../base/text.ts";

/** A log in waste/. With another size or time it is another log. */
export interface WasteLog {
  name: string;
  size: number;
  mtimeMs: number;
}

export interface WasteHead {
  id: string;
  attempt: number;
  worker: string;
  /** ISO 8601. */
  at: string;
}

export interface WasteFoot {
  outcome: string;
  seconds: number;
  note?: string;
}

const MAX_NOTE = 500;
const MAX_HEAD = 1000;

/** The name of an attempt's log: a snake has one claim at a time, so names are unique. */
export function wasteName(snake: string, atMs: number): string {
  return `${snake}-${new Date(atMs).toISOString().replace(/[-:]/g, "")}.log`;
}

const DAY = String.raw`(\d{4})-?(\d\d)-?(\d\d)`;
const TIME = String.raw`(\d\d)[-:.]?(\d\d)[-:.]?(\d\d)(?:[.,]\d{1,9})?`;
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?`;
const CALENDAR = new RegExp(`^(.+?)-${DAY}(?:[T_ -]${TIME}${ZONE})?$`, "i");
/** As `date +%s`, `%s%3N`, `%s%N` and time.time() print it, from 2001 on. */
const EPOCH = /^(.+)-\d{10}(?:\d{3}|\d{6}|\d{9}|\.\d{1,9})?$/;

/**
 * The snake of a log, by the log's name. The time has any common form; everything else belongs to the
 * snake's name (`snake-2-x`, `snake-2-3`). Null for a time alone.
 */
export function snakeOfWaste(name: string): { snake: string } | null {
  if (!name.endsWith(".log") || name.startsWith(".") || name.includes("/")) return null;
  const stem = name.slice(0, -".log".length);
  if (stem === "" || beforeTime(`x-${stem.replace(/^-/, "")}`) === "x") return null;
  return { snake: beforeTime(stem) ?? stem };
}

function beforeTime(stem: string): string | null {
  const match = CALENDAR.exec(stem) ?? [];
  const [, snake = "", year, month, day, hour = "00", minute = "00", second = "00"] = match;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const time = new Date(`${text}Z`);
  // Date.parse takes 31 February for 3 March.
  const isTime = !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
  return isTime ? snake : (EPOCH.exec(stem)?.[1] ?? null);
}

export function wasteHead({ id, attempt, worker, at }: WasteHead): string {
  return `# ${oneLine(id)} attempt ${attempt} by ${oneLine(worker)} at ${at}`;
}

export function parseWasteHead(line: string): WasteHead | null {
  if (line.length > MAX_HEAD) return null; // the pattern is slow on a long line
  const match = /^# (.+) attempt (\d+) by (.+) at (\d{4}-\d\d-\d\dT[\d:.]+Z)$/.exec(line.trimEnd());
  if (match === null) return null;
  const [, id = "", attempt, worker = "", at = ""] = match;
  return { id, attempt: Number(attempt), worker, at };
}

export function wasteFoot({ outcome, seconds, note }: WasteFoot): string {
  const took = Number.isFinite(seconds) ? Math.max(0, seconds).toFixed(1) : "0.0";
  const why = oneLine(note ?? "", MAX_NOTE);
  return `# ended ${outcome} after ${took} s${why === "" ? "" : `: ${why}`}`;
}

export function parseWasteFoot(line: string): WasteFoot | null {
  const match = /^# ended (\S+) after (\d{1,12}(?:\.\d+)?) s(?:: (.*))?$/.exec(line.trimEnd());
  if (match === null) return null;
  const [, outcome = "", seconds, note] = match;
  return { outcome, seconds: Number(seconds), note: note || undefined };
}

/** On one line, without control characters and marks of direction. */
export function oneLine(text: string, max = Number.POSITIVE_INFINITY): string {
  const line = lastLines(text, Number.POSITIVE_INFINITY)
    .join(" ")
    .replace(/[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu, " ")
    .trim();
  return line.length > max ? `${line.slice(0, max - 1).replace(/\p{Cs}$/u, "")}…` : line;
}
