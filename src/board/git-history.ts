import { VivError } from "../base/errors.ts";
import { askGit, gitBytes, lastWord } from "../platform/git/git.ts";
import { readBatch } from "./objects.ts";
import type { BoardPlace } from "./place.ts";

/** One commit that changed the board. */
export interface HistoryEntry {
  commit: string;
  author: string;
  /** Milliseconds. */
  at: number;
  subject: string;
  /** The trailer `Agent:`, which viv writes. */
  agent: string | null;
  /** The board before: one blob, none for the first commit, several for a merge. */
  before: string[];
  /** Null: the commit removed it. */
  after: string | null;
}

const FIELDS = ["%H", "%an", "%at", "%s", "%(trailers:key=Agent,valueonly,separator=%x2C)"];
const FORMAT = `--format=%x00${FIELDS.join("%x1f")}`;
/** Merges only where their board is that of no parent. */
const HOW = ["--full-history", "--diff-merges=combined", "--raw", "--no-abbrev", "--no-renames"];

/** The oldest first. */
export async function boardHistory({ top, path }: BoardPlace): Promise<HistoryEntry[]> {
  const args = ["-c", "log.showSignature=false", "--literal-pathspecs", "log", "--topo-order"];
  const answer = await askGit([...args, "--reverse", ...HOW, FORMAT, "HEAD", "--", path], {
    cwd: top,
  });
  if (answer.status !== 0) {
    throw new VivError("RUN_INVALID", `git log failed in ${top}: ${lastWord(answer.stderr)}.`);
  }
  const records = answer.stdout.toString("utf8").split("\0").slice(1);
  return records.flatMap((record) => entryIn(record) ?? []);
}

function entryIn(record: string): HistoryEntry | null {
  const lines = record.split("\n");
  const [commit = "", author = "", at = "", subject = "", agent = ""] = (lines[0] ?? "").split(
    "\x1f",
  );
  const raw = lines.slice(1).find((line) => line.startsWith(":"));
  if (raw === undefined) return null;
  const parents = /^:+/.exec(raw)?.[0].length ?? 1;
  const oids = raw
    .slice(parents)
    .split(" ")
    .slice(parents + 1, 2 * parents + 2);
  const blobs = oids.map((oid) => (/^0+$/.test(oid) ? null : oid));
  return {
    ...{ commit, author, subject, at: Number(at) * 1000 },
    agent: agent.trim() === "" ? null : agent.trim(),
    before: blobs.slice(0, parents).filter((oid) => oid !== null),
    after: blobs[parents] ?? null,
  };
}

/** What is missing (a shallow or partial clone) is not in the answer. */
export async function readBlobs(
  { top }: BoardPlace,
  oids: readonly string[],
): Promise<Map<string, Buffer>> {
  if (oids.length === 0) return new Map();
  const said = await gitBytes(["cat-file", "--batch"], { cwd: top, stdin: `${oids.join("\n")}\n` });
  const found = readBatch(said).map((one, i) => [oids[i] as string, one?.bytes] as const);
  return new Map(found.filter((pair): pair is [string, Buffer] => pair[1] !== undefined));
}
