import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../model/errors.ts";
import { blobsOnTheWay } from "./board-journal.ts";
import { entryOf, formatOf, oidOf, readBatch, type TreeEntry } from "./board-objects.ts";
import { type BoardPlace, noBoard, underWay, unusable } from "./board-place.ts";
import { askGit, type GitAnswer, lastWord } from "./git.ts";

/** The board as a commit has it, with the trees that lead to it. */
export interface BoardVersion {
  commit: string;
  blob: string;
  bytes: Buffer;
  /** From the top to the folder of the board, each with the entry that leads on. */
  trees: { bytes: Buffer; entry: TreeEntry }[];
}

/** The tip of the branch that is checked out, on which a change can be made. */
export interface BoardTip extends BoardVersion {
  branch: string;
  /** The index or the file are older: somebody is bringing them up to date, or died before it. */
  isBehind: boolean;
}

/** What HEAD has. One process, so that it costs the same however deep the board lies. */
export async function readVersion(place: BoardPlace): Promise<BoardVersion> {
  for (let tries = 0; ; tries++) {
    const version = await tryVersion(place);
    if (version !== null) return version;
    if (tries === 20) throw new VivError("LOCKED", `${place.top}: HEAD moves all the time.`);
  }
}

/** Null when HEAD moved between two of the questions. */
async function tryVersion(place: BoardPlace): Promise<BoardVersion | null> {
  const parts = place.path.split("/");
  const folders = parts.map((_, i) => `HEAD:${parts.slice(0, i).join("/")}`);
  const questions = ["HEAD", ...folders, `HEAD:${place.path}`];
  const answer = await askGit(["cat-file", "--batch"], {
    cwd: place.top,
    stdin: `${questions.join("\n")}\n`,
  });
  if (answer.status !== 0) throw gitSays(place, answer);
  const [head, ...rest] = readBatch(answer.stdout);
  if (!head) throw noCommits(place);
  const format = formatOf(head.oid);
  const trees: BoardVersion["trees"] = [];
  let expected = /^tree ([0-9a-f]+)/.exec(head.bytes.toString("latin1", 0, 80))?.[1];
  for (const [i, name] of parts.entries()) {
    const tree = rest[i];
    if (!tree && i > 0) throw await notCommitted(place);
    if (tree?.oid !== expected) return null;
    if (tree?.kind !== "tree") throw await notCommitted(place); // a file stands in the way
    const entry = entryOf(tree.bytes, name, format);
    if (entry === null) throw await notCommitted(place);
    trees.push({ bytes: tree.bytes, entry });
    expected = entry.oid;
  }
  const blob = rest[parts.length];
  const mode = trees.at(-1)?.entry.mode;
  if (mode === "120000") {
    throw unusable(`${place.file} is committed as a link; commit the board itself.`, {});
  }
  if (!blob || blob.oid !== expected) return null;
  if (blob.kind !== "blob") throw await notCommitted(place);
  return { commit: head.oid, blob: blob.oid, bytes: blob.bytes, trees };
}

/** The tip, if nothing forbids a change: otherwise the first reason that does. */
export async function lookForChange(place: BoardPlace): Promise<BoardTip> {
  const [status, version] = await Promise.all([askStatus(place), settled(readVersion(place))]);
  const what = underWay(place);
  if (what !== null) {
    const message = `${what} is under way in ${place.top}; finish or abort it first (git status says how).`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  if (status.status !== 0) throw gitSays(place, status);
  if ("error" in version) throw version.error;
  const said = statusOf(status.stdout.toString("utf8"));
  if (said.branch === null) {
    const message = `${place.top} is on no branch (detached HEAD), so a claim would be lost; git switch to one first.`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  const state = await stateOf(place, version.value, said);
  return { ...version.value, branch: said.branch, isBehind: state === "behind" };
}

async function settled<T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}

async function askStatus(place: BoardPlace): Promise<GitAnswer> {
  const flags = ["--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames", "-uno"];
  return askGit(["--literal-pathspecs", "status", ...flags, "--", place.path], { cwd: place.top });
}

interface Status {
  /** The commit it compared with. */
  head: string;
  branch: string | null;
  /** The blob of the index; null if it is the one of HEAD. */
  staged: string | null;
  isUnmerged: boolean;
}

function statusOf(said: string): Status {
  const lines = said.split("\0");
  const after = (start: string) =>
    lines.find((line) => line.startsWith(start))?.slice(start.length) ?? "";
  const branch = after("# branch.head ");
  const change = lines.find((line) => line.startsWith("1 "))?.split(" ");
  return {
    head: after("# branch.oid "),
    branch: branch === "(detached)" || branch === "" ? null : branch,
    staged: change !== undefined && change[1]?.[0] !== "." ? (change[7] ?? "") : null,
    isUnmerged: lines.some((line) => line.startsWith("u ")),
  };
}

/** Refuses what somebody has edited: a change must not mix with it, nor overwrite it. */
async function stateOf(
  place: BoardPlace,
  version: BoardVersion,
  status: Status,
): Promise<"clean" | "behind"> {
  if (status.isUnmerged) {
    const message = `${place.file} has conflicts that nobody has resolved; git status says how to.`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  const index = status.staged ?? (status.head === version.commit ? version.blob : "");
  const file = (await fileBlob(place, version))?.blob ?? null;
  if (index === version.blob && (file === version.blob || file === null)) return "clean";
  const known = blobsOnTheWay(place).add(version.blob);
  const isKnown = (blob: string) => known.has(blob);
  if (isKnown(index) && (file === null || isKnown(file))) return "behind";
  throw edited(place, file !== null && isKnown(file) ? "staged" : "edited");
}

function edited(place: BoardPlace, how: "staged" | "edited"): VivError {
  const message =
    how === "staged"
      ? `${place.file} has changes in the index that are not committed; commit them, or drop them with: git restore --staged ${place.name}`
      : `${place.file} was edited and not committed; commit that first, or drop it with: git restore ${place.name}`;
  return new VivError("WRONG_STATE", message, { file: place.file, how });
}

export interface FileBlob {
  blob: string;
  /** Its bytes are those of the blob: git converts nothing. */
  isAsItIs: boolean;
}

/**
 * The blob that the file would be; null when a sparse checkout leaves it out. Where git converts
 * line ends or filters, only git can say.
 */
export async function fileBlob(place: BoardPlace, version: BoardVersion): Promise<FileBlob | null> {
  const bytes = bytesOf(place.file);
  if (bytes === null) {
    const flags = await askGit(["--literal-pathspecs", "ls-files", "-t", "--", place.path], {
      cwd: place.top,
    });
    if (flags.stdout.toString("utf8").startsWith("S ")) return null;
    const message = `${place.file} was deleted and that is not committed; bring it back with: git restore ${place.name}`;
    throw new VivError("WRONG_STATE", message, { file: place.file });
  }
  if (bytes.equals(version.bytes)) return { blob: version.blob, isAsItIs: true };
  const asItIs = oidOf({ kind: "blob", bytes }, formatOf(version.commit));
  if (blobsOnTheWay(place).has(asItIs)) return { blob: asItIs, isAsItIs: true };
  const answer = await askGit(["hash-object", `--path=${place.path}`, "--stdin"], {
    cwd: place.top,
    stdin: bytes,
  });
  const blob = answer.status === 0 ? answer.stdout.toString("utf8").trim() : asItIs;
  return { blob, isAsItIs: blob === asItIs };
}

function bytesOf(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    const message = `${file} cannot be read: ${(error as Error).message}.`;
    throw new VivError("RUN_INVALID", message, { file }, { cause: error });
  }
}

function noCommits({ top, name }: BoardPlace): VivError {
  const message = `the branch of ${top} has no commit yet; make the first with: git add ${name} && git commit`;
  return unusable(message, { top });
}

async function notCommitted(place: BoardPlace): Promise<VivError> {
  const { file, name, path, top } = place;
  if (!existsSync(file)) return noBoard(file);
  const ignored = await askGit(["check-ignore", "-q", "--", path], { cwd: top });
  return unusable(
    ignored.status === 0
      ? `${file} is ignored by git, and claims are commits; take it out of .gitignore and commit it.`
      : `${file} is not committed on this branch; do that first: git add ${name} && git commit -m "the board" ${name}`,
    { file },
  );
}

function gitSays({ top, gitDir }: BoardPlace, { stderr }: GitAnswer): VivError {
  const lock = join(gitDir, "index.lock");
  const hint = stderr.includes("index.lock") ? ` (see ${lock})` : "";
  return unusable(`git cannot use ${top}: ${lastWord(stderr)}${hint}.`, { stderr });
}
