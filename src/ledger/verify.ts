import { counted } from "../base/text.ts";
import { stepsAtOnce } from "../platform/slices.ts";
import { daysIn, fileOf, statIfThere } from "./day-files.ts";
import {
  type Digest,
  digestOf,
  MARK,
  parseSeal,
  readHead,
  type Seal,
  sealText,
  sha256,
} from "./seal.ts";
import type { SealHead } from "./seal-head.ts";
import { daysKnown, readHeadCopy } from "./witness.ts";

export interface LedgerProblem {
  /** `2026-11-17.jsonl`, `2026-11-17.seal`, `head.json` */
  file: string;
  /** The first line that differs, where that can be told. */
  line?: number;
  problem: string;
}

export interface Verified {
  problems: LedgerProblem[];
  /** Sealed days, with files as they were. */
  sealed: number;
  /** Days that are not sealed yet. */
  open: string[];
}

/**
 * Compares the closed files with their seals, and the seals with each other. `quick`: sizes instead of
 * contents. A file that is being sealed at the moment is not judged.
 */
export function verifyLedger(folder: string, options?: { quick?: boolean }): Verified {
  return stepsAtOnce(verifySteps(folder, options));
}

/** The same, step by step: a large ledger takes seconds. */
export function* verifySteps(folder: string, { quick = false } = {}): Generator<null, Verified> {
  // Before the files are listed: what they name is there before they name it.
  const [copy, known, head] = [readHeadCopy(folder), daysKnown(folder), readHead(folder)];
  const { jsonl, closing, seal: seals } = daysIn(folder);
  const problems = lostFiles(known.filter((day) => !jsonl.has(day) && !seals.has(day)));
  const open: string[] = [];
  let sealed = 0;
  let previous: { day: string; hash: string } | null = null;
  const hashes = new Map<string, string>();
  const last = [...seals].sort().at(-1) ?? "";
  for (const day of [...new Set([...jsonl, ...seals])].sort()) {
    if (!seals.has(day)) {
      if (day > last || closing.has(day)) open.push(day);
      else problems.push(unsealed(day, last));
      continue;
    }
    const text = sealText(folder, day);
    const seal = parseSeal(text);
    const found =
      seal === null || text === null
        ? [{ file: `${day}.seal`, problem: "is no seal" }]
        : [
            ...chainProblems(day, seal, previous),
            ...(yield* fileProblems(folder, day, seal, quick)),
          ];
    if (found.length === 0) sealed++;
    problems.push(...found);
    previous = { day, hash: sha256(text ?? "") };
    hashes.set(day, previous.hash);
  }
  const ofHead = headProblems(folder, head, hashes, closing);
  problems.push(...(ofHead.length > 0 ? ofHead : copyProblems(copy, hashes)));
  return { problems, sealed, open };
}

/** Without a seal; a sealed one is missed by its seal. */
function lostFiles(days: readonly string[]): LedgerProblem[] {
  const [first, ...others] = [...days].sort();
  if (first === undefined) return [];
  const more = others.length > 0 ? `, and so are ${others.length} more up to ${others.at(-1)}` : "";
  const problem = `is missing${more}; .viv/projection.json in the run says that its lines were read`;
  return [{ file: `${first}.jsonl`, problem }];
}

function copyProblems(copy: SealHead | null, hashes: ReadonlyMap<string, string>): LedgerProblem[] {
  if (copy === null || hashes.get(copy.day) === copy.seal) return [];
  const problem = hashes.has(copy.day)
    ? "is not the one that .viv/ledger-head.json in the run names"
    : "is missing: .viv/ledger-head.json in the run names it";
  return [{ file: `${copy.day}.seal`, problem }];
}

function unsealed(day: string, last: string): LedgerProblem {
  const problem = `has no seal, and later days up to ${last} have one: its seal is missing, or the file was added`;
  return { file: `${day}.jsonl`, problem };
}

function chainProblems(
  day: string,
  seal: Seal,
  previous: { day: string; hash: string } | null,
): LedgerProblem[] {
  if (seal.file !== `${day}.jsonl`) {
    return [{ file: `${day}.seal`, problem: `is the seal of ${seal.file}` }];
  }
  if (seal.previous === (previous?.hash ?? null)) return [];
  const before = previous === null ? "no seal is before it" : `it is not that of ${previous.day}`;
  const problem = `names another seal before it than there is (${before}): a seal was changed or is missing`;
  return [{ file: `${day}.seal`, problem }];
}

function headProblems(
  folder: string,
  head: SealHead | null,
  /** Of the seals, by day, the last one last. */
  hashes: ReadonlyMap<string, string>,
  closing: ReadonlySet<string>,
): LedgerProblem[] {
  const last = [...hashes.keys()].at(-1) ?? null;
  const isBetweenSteps = last === null || closing.has(last);
  if (head === null) {
    return isBetweenSteps ? [] : [{ file: "head.json", problem: "is missing, or is no head" }];
  }
  if (last === null || head.day > last) {
    const there = last === null ? "there is no seal" : `the last one here is of ${last}`;
    const problem = `names the seal of ${head.day} as the last, and ${there}: files are missing`;
    return [{ file: "head.json", problem }];
  }
  if (hashes.get(head.day) !== head.seal) {
    return [{ file: `${head.day}.seal`, problem: "is not the one that head.json names" }];
  }
  // Read again: it may be later by now. The mark of a closing goes after the head is written.
  if (!isBetweenSteps && (readHead(folder)?.day ?? "") < last) {
    const problem = `names the seal of ${head.day} as the last, and there is one of ${last}: it is an earlier head, or files were added`;
    return [{ file: "head.json", problem }];
  }
  return [];
}

function* fileProblems(
  folder: string,
  day: string,
  seal: Seal,
  quick: boolean,
): Generator<null, LedgerProblem[]> {
  const file = `${day}.jsonl`;
  const path = fileOf(folder, day, "jsonl");
  const stats = statIfThere(path);
  if (!stats?.isFile()) {
    return [{ file, problem: `is missing, with ${counted(seal.lines, "line")}` }];
  }
  if (quick) {
    if (stats.size === seal.bytes) return [];
    return [{ file, problem: `has ${stats.size} bytes, its seal says ${seal.bytes}` }];
  }
  const now = yield* digestOf(path, Number.POSITIVE_INFINITY, seal.step);
  return now.sha256 === seal.sha256 ? [] : [difference(file, seal, now)];
}

/** The first lines that differ, and what happened to the file as far as that can be told. */
function difference(file: string, seal: Seal, now: Digest): LedgerProblem {
  const [was, is] = [marksOf(seal.marks), marksOf(now.marks)];
  let first = 0;
  while (first < was.length && was[first] === is[first]) first++;
  const line = first * seal.step + 1;
  const to = Math.max(line, Math.min(line + seal.step - 1, Math.max(seal.lines, now.lines)));
  const where = seal.step === 1 ? `line ${line}` : `lines ${line} to ${to}`;
  const lines = now.lines - seal.lines;
  if (lines > 0 && first === was.length) {
    return {
      file,
      line,
      problem: `has ${counted(lines, "line")} too many, added at its end: ${where}`,
    };
  }
  if (lines > 0)
    return {
      file,
      line,
      problem: `has ${counted(lines, "line")} too many: the first difference is at ${where}`,
    };
  if (lines < 0) {
    const problem = `has ${counted(-lines, "line")} too few: the first difference is at ${where}`;
    return { file, line, problem };
  }
  return { file, line, problem: `was changed: the first difference is at ${where}` };
}

function marksOf(marks: string): string[] {
  return marks.match(new RegExp(`.{${MARK}}`, "g")) ?? [];
}
