import { failedLine, tellingLines } from "./failed-line.ts";

/**
 * What two failures have in common when they are the same failure: how the handler ended and what
 * it said last, without what changes every time (numbers, times, addresses, temporary names). It
 * is kept readable, so that the ledger shows what repeats.
 */
export interface Failure {
  outcome: string;
  exit: number | null;
  signal: string | null;
  /** The end of its output. */
  tail: string;
}

const LINES = 5;
const MAX_LENGTH = 300;

export function fingerprint({ outcome, exit, signal, tail }: Failure): string {
  const how = signal ?? (exit === null ? "" : `exit ${exit}`);
  const last = tellingLines(tail, LINES);
  const failed = failedLine(tail);
  // A long report may end in the same lines whatever has failed.
  const lines = failed === undefined || last.includes(failed) ? last : [failed, ...last];
  const said = lines.map(withoutChanges).join(" / ");
  return [outcome, how, said]
    .filter((part) => part !== "")
    .join(": ")
    .slice(0, MAX_LENGTH);
}

function withoutChanges(line: string): string {
  return line
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?/g, "#")
    .replace(/\b0x[0-9a-f]+\b/gi, "#")
    .replace(/\b[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, "#")
    .replace(/\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b/gi, "#")
    .replace(/\/tmp\/[^\s:,'")\]]+/g, "/tmp/#")
    .replace(/\d+([.:,_-]\d+)*/g, "#")
    .replace(/\s+/g, " ")
    .slice(0, 200);
}
