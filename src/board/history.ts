import {
  type Breach,
  breachesIn,
  breachesOfMerge,
  changesBetween,
  type TaskChange,
} from "./audit.ts";
import { type Board, decodeBoard } from "./board.ts";
import type { BoardRepository, HistoryEntry } from "./git.ts";

interface Step {
  entry: HistoryEntry;
  board: Board;
  changes: TaskChange[];
  breaches: Breach[];
}

/** So many boards are in memory at once. */
const AT_ONCE = 32;

/** What each commit did to the board, the oldest first. */
async function* stepsOf(repository: BoardRepository): AsyncGenerator<Step> {
  const history = await repository.history();
  const agents = new Set<string>();
  for (let from = 0; from < history.length; from += AT_ONCE) {
    const entries = history.slice(from, from + AT_ONCE);
    const oids = entries.flatMap(({ before, after }) => [...before, ...(after ? [after] : [])]);
    const blobs = await repository.blobs([...new Set(oids)]);
    const texts = new Map([...blobs].map(([oid, bytes]) => [oid, decodeBoard(bytes).text]));
    const textOf = (oid: string) => texts.get(oid) ?? null;
    for (const entry of entries) {
      const before = entry.before.map(textOf);
      const after = entry.after === null ? "" : textOf(entry.after);
      // A clone without its whole history: what it lacks cannot be judged.
      if (after === null || before.includes(null)) continue;
      yield stepOf(entry, before as string[], after, agents);
    }
  }
}

function stepOf(
  entry: HistoryEntry,
  before: readonly string[],
  after: string,
  agents: Set<string>,
): Step {
  const { changes, board } = changesBetween(before[0] ?? "", after);
  for (const { before: was, after: is } of changes) {
    for (const name of [was?.agent, is?.agent]) if (name) agents.add(name);
  }
  if (entry.agent !== null) agents.add(entry.agent);
  const breaches =
    before.length > 1 ? breachesOfMerge(before, after) : breachesIn(board, changes, entry, agents);
  return { entry, board, changes, breaches };
}

export interface Finding extends Breach {
  commit: string;
  author: string;
  at: string;
  subject: string;
}

export async function auditBoard(
  repository: BoardRepository,
): Promise<{ commits: number; claims: number; findings: Finding[] }> {
  const findings: Finding[] = [];
  let commits = 0;
  let claims = 0;
  for await (const { entry, changes, breaches } of stepsOf(repository)) {
    commits++;
    claims += changes.filter(({ before, after }) => isClaim(before?.agent, after?.agent)).length;
    findings.push(...breaches.map((breach) => ({ ...breach, ...aboutCommit(entry) })));
  }
  return { commits, claims, findings };
}

function isClaim(before: string | null | undefined, after: string | null | undefined): boolean {
  return Boolean(after) && after !== before;
}

export interface LogLine {
  commit: string;
  author: string;
  at: string;
  subject: string;
  from: string | null;
  to: string | null;
  agent: string | null;
}

/** The commits that changed one task, the oldest first. */
export async function logOfTask(repository: BoardRepository, slug: string): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const { entry, changes } of stepsOf(repository)) {
    for (const { before, after } of changes) {
      if ((after ?? before)?.slug !== slug) continue;
      const [from, to] = [before?.state ?? null, after?.state ?? null];
      const agent = entry.agent ?? after?.agent ?? before?.agent ?? null;
      lines.push({ ...aboutCommit(entry), from, to, agent });
    }
  }
  return lines;
}

function aboutCommit({ commit, author, at, subject }: HistoryEntry) {
  return { commit, author, at: new Date(at).toISOString(), subject };
}
