import { statSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isVivError, VivError } from "../base/errors.ts";
import { askGit, gitBytes, lastWord } from "../platform/git/git.ts";
import { areFilesEnough, type NamedObject, writeLoose } from "../platform/git/loose-objects.ts";
import type { BoardCheckout } from "./checkout.ts";
import { type OwnNote, writeNote } from "./journal.ts";
import { formatOf, named, packOf, treeWith } from "./objects.ts";
import type { BoardTip } from "./tip.ts";

interface CommitContext {
  checkout: BoardCheckout;
  /** `git var -l`: names, times and settings. */
  variables: ReadonlyMap<string, string>;
  waitForLock: LockWait;
}

/**
 * Makes one commit beside the index and the files: blob, trees and commit are put among git's
 * objects, then the branch is moved from exactly the commit that was read. Null when the branch has
 * moved meanwhile. Hooks are not run and nothing is signed.
 */
export async function commitChange(
  context: CommitContext,
  tip: BoardTip,
  { bytes, message, agent }: { bytes: Buffer; message: string; agent: string },
): Promise<{ tip: BoardTip; note: OwnNote } | null> {
  const format = formatOf(tip.commit);
  const blob = named({ kind: "blob", bytes }, format);
  const objects = [blob];
  let { oid } = blob;
  for (const { bytes: tree, entry } of tip.trees.toReversed()) {
    const changed = named({ kind: "tree", bytes: treeWith(tree, entry, oid) }, format);
    objects.push(changed);
    oid = changed.oid;
  }
  const { author, committer } = identityFor(agent, context.variables);
  const heads = [`tree ${oid}`, `parent ${tip.commit}`, `author ${author}`];
  const text = [...heads, `committer ${committer}`, "", message].join("\n");
  const commit = named({ kind: "commit", bytes: Buffer.from(text) }, format);
  const note = await writeObjects(context, [...objects, commit], tip.blob, blob.oid);
  const move = await moveBranch(
    context.checkout,
    tip,
    commit.oid,
    message.split("\n")[0] as string,
  );
  if (move === "moved") {
    return { tip: { ...tip, commit: commit.oid, blob: blob.oid, bytes, isBehind: true }, note };
  }
  note.remove();
  if (move !== "lost") await context.waitForLock(move.lock);
  return null;
}

/** The note comes before the branch moves: with it a board that is behind does not count as edited. */
async function writeObjects(
  { checkout, variables }: CommitContext,
  objects: readonly NamedObject[],
  from: string,
  to: string,
): Promise<OwnNote> {
  try {
    if (!areFilesEnough(variables) || !wroteLoose(checkout, objects)) {
      const stdin = packOf(objects, formatOf(from));
      await gitBytes(["unpack-objects", "-q"], { cwd: checkout.top, stdin });
    }
    return writeNote(checkout, from, to);
  } catch (cause) {
    const { message } = cause as Error;
    // The disk's error stands before git's last line.
    const all = `${message} ${isVivError(cause) ? (cause.details.stderr ?? "") : ""}`;
    const what = `nothing can be committed in ${checkout.top}: ${message}`;
    throw new VivError(codeFor(all), what, {}, { cause });
  }
}

/** Without a process. Where that fails, git does it or reports why it cannot. */
function wroteLoose({ commonDir }: BoardCheckout, objects: readonly NamedObject[]): boolean {
  try {
    writeLoose(commonDir, objects);
    return true;
  } catch {
    return false;
  }
}

async function moveBranch(
  { top }: BoardCheckout,
  tip: BoardTip,
  to: string,
  subject: string,
): Promise<"moved" | "lost" | { lock: string }> {
  const ref = `refs/heads/${tip.branch}`;
  const args = ["update-ref", "-m", `viv board: ${subject}`, ref, to, tip.commit];
  const { status, stderr } = await askGit(args, { cwd: top, isShielded: true });
  if (status === 0) return "moved";
  const lock = /'([^']*\.lock)': File exists/.exec(stderr)?.[1];
  if (lock !== undefined) return { lock: resolve(top, lock) };
  // A lock that cannot be created (read-only, full) stays so: another try does not help.
  const isLost = /but expected|cannot lock ref/i.test(stderr);
  if (isLost && !/unable to create ('|directory)/i.test(stderr)) return "lost";
  const message = `the branch ${tip.branch} could not be moved: ${lastWord(stderr)}.`;
  throw new VivError(codeFor(stderr), message, { stderr });
}

function codeFor(output: string): "DISK_FULL" | "READ_ONLY" | "RUN_INVALID" {
  if (/no space left|disk quota|ENOSPC|EDQUOT/i.test(output)) return "DISK_FULL";
  return /permission|read-only|EACCES|EPERM|EROFS/i.test(output) ? "READ_ONLY" : "RUN_INVALID";
}

/** Author and committer as git's variables have them; where git has no name or address, the agent's. */
function identityFor(agent: string, variables: ReadonlyMap<string, string>) {
  const person = (kind: "author" | "committer") => {
    const capitals = `GIT_${kind.toUpperCase()}`;
    const ident = variables.get(`${capitals}_IDENT`) ?? "";
    const [, name = "", email = "", when = ""] = /^(.*) <(.*)> (\d+ [+-]\d+)$/.exec(ident) ?? [];
    const has = (key: string) =>
      Boolean(process.env[`${capitals}_${key.toUpperCase()}`]) ||
      Boolean(variables.get(`user.${key}`) ?? variables.get(`${kind}.${key}`)) ||
      (key === "email" && Boolean(process.env.EMAIL));
    return `${has("name") ? name : agent} <${has("email") ? email : `${agent}@localhost`}> ${when}`;
  };
  return { author: person("author"), committer: person("committer") };
}

/** How long a git lock is waited for: silently, and in all. Git holds one for milliseconds. */
export interface Patience {
  silentMs: number;
  mostMs: number;
}

export type LockWait = (lock: string) => Promise<void>;

/**
 * Waits until this very lock is gone. Where many processes change a branch, there is nearly always a
 * lock, but another each time; only one that stays was left behind.
 */
export async function waitForLock(
  lock: string,
  notify: (sentence: string) => void,
  { silentMs, mostMs }: Patience = { silentMs: 1_000, mostMs: 10_000 },
): Promise<void> {
  const first = identityOf(lock);
  const begin = performance.now();
  let isNotified = false;
  while (first !== null && identityOf(lock) === first) {
    const waited = performance.now() - begin;
    if (waited >= mostMs) {
      const message = `the git lock ${lock} has not gone away for ${mostMs / 1000} s; if no git runs there any more, remove that file and try again.`;
      throw new VivError("LOCKED", message, { lock });
    }
    if (!isNotified && waited >= silentMs) {
      isNotified = true;
      notify(`waiting for the git lock ${lock}`);
    }
    await wait(Math.min(20, mostMs));
  }
}

function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.ino}-${found.ctimeNs}`;
}
