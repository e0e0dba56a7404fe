import { existsSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../base/errors.ts";
import { askGitNow, type GitAnswer, lastWord } from "../platform/git/git.ts";
import { branchOf, commitInFile } from "./branch.ts";
import { entryOf, formatOf, readBatch, type TreeEntry } from "./objects.ts";
import { type BoardPlace, noBoard, unusable } from "./place.ts";

/** The board as a commit has it, with the trees that lead to it. */
export interface BoardVersion {
  commit: string;
  blob: string;
  bytes: Buffer;
  /** From the top to the folder of the board, each with the entry that leads on. */
  trees: { bytes: Buffer; entry: TreeEntry }[];
}

/** What HEAD has. One process, so that it costs the same however deep the board lies. */
export function readVersion(place: BoardPlace): BoardVersion {
  for (let tries = 0; ; tries++) {
    const { head, blob } = readAll(place, `HEAD:${place.path}`) ?? {};
    if (head !== undefined && blob?.oid === head.blob) {
      if (blob.kind !== "blob") throw notCommitted(place);
      return { ...head, bytes: blob.bytes };
    }
    if (tries === 20) throw new VivError("LOCKED", `${place.top}: HEAD moves all the time.`);
  }
}

/** What HEAD has, if the index has the same: asked of the index, one answer is for both. */
export function readSettledVersion(place: BoardPlace): BoardVersion | null {
  const { head, blob } = readAll(place, `:0:${place.path}`) ?? {};
  const isSame = head !== undefined && blob?.oid === head.blob && blob.kind === "blob";
  return isSame ? { ...head, bytes: blob.bytes } : null;
}

interface Answers {
  head: Omit<BoardVersion, "bytes">;
  blob: ReturnType<typeof readBatch>[number] | undefined;
}

/** The way from HEAD to the board, and what `object` is. Null when HEAD moved between two answers. */
function readAll(place: BoardPlace, object: string): Answers | null {
  const parts = place.path.split("/");
  const folders = parts.map((_, i) => `HEAD:${parts.slice(0, i).join("/")}`);
  const answer = askGitNow(["cat-file", "--batch"], {
    cwd: place.top,
    stdin: `${["HEAD", ...folders, object].join("\n")}\n`,
  });
  if (answer.status !== 0) throw gitSays(place, answer);
  const [commit, ...rest] = readBatch(answer.stdout);
  if (!commit) throw noCommits(place);
  const format = formatOf(commit.oid);
  const trees: BoardVersion["trees"] = [];
  let expected = /^tree ([0-9a-f]+)/.exec(commit.bytes.toString("latin1", 0, 80))?.[1] ?? "";
  for (const [i, name] of parts.entries()) {
    const tree = rest[i];
    if (!tree && i > 0) throw notCommitted(place);
    if (tree?.oid !== expected) return null;
    if (tree.kind !== "tree") throw notCommitted(place); // a file stands in the way
    const entry = entryOf(tree.bytes, name, format);
    if (entry === null) throw notCommitted(place);
    trees.push({ bytes: tree.bytes, entry });
    expected = entry.oid;
  }
  if (trees.at(-1)?.entry.mode === "120000") {
    throw unusable(`${place.file} is committed as a link; commit the board itself.`, {});
  }
  return { head: { commit: commit.oid, blob: expected, trees }, blob: rest[parts.length] };
}

function noCommits(place: BoardPlace): VivError {
  const { top, name } = place;
  const named = askGitNow(["rev-parse", "-q", "--verify", "HEAD"], { cwd: top });
  const branch = branchOf(place);
  const broken = named.stdout.toString("utf8").trim() || (branch && commitInFile(place, branch));
  if (broken) {
    const what = `HEAD of ${top} says ${JSON.stringify(broken.slice(0, 80))}, and there is no such commit`;
    return unusable(`${what}: the repository is damaged; git fsck says more.`, { top });
  }
  const message = `the branch of ${top} has no commit yet; make the first with: git add ${name} && git commit`;
  return unusable(message, { top });
}

function notCommitted({ file, name, path, top }: BoardPlace): VivError {
  if (!existsSync(file)) return noBoard(file);
  const ignored = askGitNow(["check-ignore", "-q", "--", path], { cwd: top });
  return unusable(
    ignored.status === 0
      ? `${file} is ignored by git, and claims are commits; take it out of .gitignore and commit it.`
      : `${file} is not committed on this branch; do that first: git add ${name} && git commit -m "the board" ${name}`,
    { file },
  );
}

export function gitSays({ top, gitDir }: BoardPlace, { stderr }: GitAnswer): VivError {
  const lock = join(gitDir, "index.lock");
  const hint = stderr.includes("index.lock") ? ` (see ${lock})` : "";
  return unusable(`git cannot use ${top}: ${lastWord(stderr)}${hint}.`, { stderr });
}
