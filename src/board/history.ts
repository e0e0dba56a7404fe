import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../base/errors.ts";
import { askGit, gitBytes, lastWord } from "../platform/git/git.ts";
import {
  actorOf,
  type Breach,
  breachesIn,
  changesBetween,
  changesOfMerge,
  isClaim,
  type TaskChange,
} from "./audit.ts";
import { decodeBoard } from "./board.ts";
import type { BoardCheckout } from "./checkout.ts";
import { type ClaimCommit, type DoubleClaim, doubleClaims } from "./double-claims.ts";
import { readBatch } from "./objects.ts";

interface HistoryEntry {
  commit: string;
  /** Those in this history: commits that left the board alone are passed over. */
  parents: string[];
  author: string;
  /** Milliseconds. */
  at: number;
  subject: string;
  /** The trailer `Agent:`, written by viv. */
  agent: string | null;
  /** The board before: one blob, none for the first commit, several for a merge. */
  before: string[];
  /** Null: the commit removed it. */
  after: string | null;
  /** False: a merge that took the board of one of its parents. */
  isChange: boolean;
}

const FIELDS = ["%H", "%P", "%an", "%at", "%s", "%(trailers:key=Agent,valueonly,separator=%x2C)"];
const FORMAT = `--format=%x00${FIELDS.join("%x1f")}`;
/** All sides of all merges; with a diff only where a merge's board is that of no parent. */
const HOW = [
  ...["--full-history", "--parents", "--diff-merges=combined"],
  ...["--raw", "--no-abbrev", "--no-renames"],
];

/** The oldest first. */
async function boardHistory({ top, path }: BoardCheckout): Promise<HistoryEntry[]> {
  const args = ["-c", "log.showSignature=false", "--literal-pathspecs", "log", "--topo-order"];
  const answer = await askGit([...args, "--reverse", ...HOW, FORMAT, "HEAD", "--", path], {
    cwd: top,
  });
  if (answer.status !== 0) {
    throw new VivError("RUN_INVALID", `git log failed in ${top}: ${lastWord(answer.stderr)}.`);
  }
  const records = answer.stdout.toString("utf8").split("\0").slice(1);
  return records.map(entryIn);
}

function entryIn(record: string): HistoryEntry {
  const lines = record.split("\n");
  const [commit = "", parents = "", author = "", at = "", subject = "", agent = ""] = (
    lines[0] ?? ""
  ).split("\x1f");
  const raw = lines.slice(1).find((line) => line.startsWith(":"));
  return {
    ...{ commit, author, subject, at: Number(at) * 1000 },
    parents: parents.split(" ").filter((one) => one !== ""),
    agent: agent.trim() === "" ? null : agent.trim(),
    ...(raw === undefined ? { before: [], after: null } : blobsIn(raw)),
    isChange: raw !== undefined,
  };
}

/** One line of a raw diff; with several colons the combined one of a merge. */
function blobsIn(raw: string): Pick<HistoryEntry, "before" | "after"> {
  const parents = /^:+/.exec(raw)?.[0].length ?? 1;
  const oids = raw
    .slice(parents)
    .split(" ")
    .slice(parents + 1, 2 * parents + 2);
  const blobs = oids.map((oid) => (/^0+$/.test(oid) ? null : oid));
  return {
    before: blobs.slice(0, parents).filter((oid) => oid !== null),
    after: blobs[parents] ?? null,
  };
}

/** Without those that a shallow or partial clone lacks. */
async function readBlobs(
  { top }: BoardCheckout,
  oids: readonly string[],
): Promise<Map<string, Buffer>> {
  if (oids.length === 0) return new Map();
  const output = await gitBytes(["cat-file", "--batch"], {
    cwd: top,
    stdin: `${oids.join("\n")}\n`,
  });
  const found = readBatch(output).map((one, i) => [oids[i] as string, one?.bytes] as const);
  return new Map(found.filter((pair): pair is [string, Buffer] => pair[1] !== undefined));
}

/** Commits with their boards in memory at once. */
const AT_ONCE = 32;

/** The changes of each commit, the oldest first. */
async function* stepsOf(checkout: BoardCheckout, all: readonly HistoryEntry[]) {
  const history = all.filter(({ isChange }) => isChange);
  const agents = new Set<string>();
  const edge = edgeOf(checkout);
  for (let from = 0; from < history.length; from += AT_ONCE) {
    const entries = history.slice(from, from + AT_ONCE);
    const oids = entries.flatMap(({ before, after }) => [...before, ...(after ? [after] : [])]);
    const blobs = await readBlobs(checkout, [...new Set(oids)]);
    const texts = new Map([...blobs].map(([oid, bytes]) => [oid, decodeBoard(bytes).text]));
    const textOf = (oid: string) => texts.get(oid) ?? null;
    for (const entry of entries) {
      const before = entry.before.map(textOf);
      const after = entry.after === null ? "" : textOf(entry.after);
      // A clone without its whole history.
      if (after === null || before.includes(null)) continue;
      const isMerge = before.length > 1;
      const { changes, board } = isMerge
        ? changesOfMerge(before as string[], after, actorOf(entry, agents))
        : changesBetween(before[0] ?? "", after);
      const named = changes.flatMap((change) => [change.before?.agent, change.after?.agent]);
      for (const name of [...named, entry.agent]) if (name) agents.add(name);
      // What is there at the edge of a shallow clone was done by commits that it lacks.
      if (edge.has(entry.commit)) continue;
      const by = { subject: entry.subject, actor: actorOf(entry, agents) };
      yield { entry, changes, breaches: breachesIn(board, changes, by) };
    }
  }
}

export async function auditBoard(checkout: BoardCheckout) {
  const history = await boardHistory(checkout);
  const findings: (Breach & ReturnType<typeof aboutCommit>)[] = [];
  const claims: ClaimCommit[] = [];
  let commits = 0;
  for await (const { entry, changes, breaches } of stepsOf(checkout, history)) {
    commits++;
    claims.push(...changes.filter(isClaim).map((change) => claimIn(change, entry)));
    findings.push(...breaches.map((breach) => ({ ...breach, ...aboutCommit(entry) })));
  }
  const entries = new Map(history.map((entry) => [entry.commit, entry]));
  for (const double of doubleClaims(history, claims)) {
    const joined = entries.get(double.commit) as HistoryEntry;
    findings.push({ ...breachBy(double), ...aboutCommit(joined) });
  }
  const unseen = await unseenBefore(checkout, history);
  return { commits, claims: claims.length, findings, unseen };
}

/** The commits of a shallow clone whose parents it lacks. */
function edgeOf({ commonDir }: BoardCheckout): ReadonlySet<string> {
  const file = join(commonDir, "shallow");
  return new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);
}

/** Where this history does not go back to the board's beginning: why. */
async function unseenBefore(checkout: BoardCheckout, history: readonly HistoryEntry[]) {
  const edge = edgeOf(checkout);
  const unseen = history.some(({ commit }) => edge.has(commit))
    ? ["this clone is shallow, older commits are not in it: git fetch --unshallow"]
    : [];
  const added = history.filter(({ isChange, before, after }) => isChange && !before[0] && after);
  const args = ["-c", "core.quotePath=false", "diff-tree", "--stdin", "-r", "-M"];
  const { stdout } = await askGit([...args, "--diff-filter=R", "--name-status"], {
    cwd: checkout.top,
    stdin: added.map(({ commit }) => `${commit}\n`).join(""),
  });
  let commit = "";
  for (const line of stdout.toString("utf8").split("\n")) {
    const [status = "", old, path] = line.split("\t");
    if (old === undefined) commit = status;
    else if (path === checkout.path) {
      unseen.push(`before ${commit.slice(0, 7)} it was ${old}, whose history is not read`);
    }
  }
  return unseen;
}

function claimIn({ after }: TaskChange, { commit, author, at, subject }: HistoryEntry) {
  const { slug = "", agent } = after ?? {};
  // A rebase and a cherry-pick keep the author and the time.
  return { commit, slug, agent: agent ?? "", origin: [agent, author, at, subject].join("\0") };
}

function breachBy({ slug, claims }: DoubleClaim): Breach {
  const names = claims.map(({ agent, commit }) => `${agent} (${commit.slice(0, 7)})`);
  const message = `${slug} was claimed on two branches: by ${names.join(" and ")}`;
  return { code: "merged_claims", slug, agent: null, message };
}

/** The commits that changed one task, the oldest first. */
export async function logOfTask(checkout: BoardCheckout, slug: string) {
  const commits = [];
  for await (const { entry, changes } of stepsOf(checkout, await boardHistory(checkout))) {
    for (const { before, after } of changes) {
      if ((after ?? before)?.slug !== slug) continue;
      const [from, to] = [before?.state ?? null, after?.state ?? null];
      const agent = entry.agent ?? after?.agent ?? before?.agent ?? null;
      commits.push({ ...aboutCommit(entry), from, to, agent });
    }
  }
  return commits;
}

function aboutCommit({ commit, author, at, subject }: HistoryEntry) {
  return { commit, author, at: new Date(at).toISOString(), subject };
}
