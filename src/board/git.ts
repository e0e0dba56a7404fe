import { setTimeout as wait } from "node:timers/promises";
import { isVivError, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import { askGitNow, gitBytes, lastWord } from "../platform/git/git.ts";
import { gitVariables } from "../platform/git/git-variables.ts";
import { areFilesEnough, writeLoose } from "../platform/git/loose-objects.ts";
import { commitInFile } from "./branch.ts";
import { follow } from "./follow.ts";
import { boardHistory, type HistoryEntry, readBlobs } from "./git-history.ts";
import { identityFor } from "./identity.ts";
import { type OwnNote, writeNote } from "./journal.ts";
import { lockIn, PATIENCE, waitForLock } from "./lock.ts";
import { type BoardTip, lookForChange } from "./look.ts";
import { formatOf, type NamedObject, named, packOf, treeWith } from "./objects.ts";
import { type BoardPlace, findBoard, placeOf } from "./place.ts";
import { type BoardVersion, readVersion } from "./version.ts";

export type { HistoryEntry } from "./git-history.ts";
export type { BoardTip } from "./look.ts";
export type { BoardVersion } from "./version.ts";

/**
 * A board in git. A change is one commit, made beside the index and the files: blob, trees and
 * commit are put among git's objects, then the branch is moved from exactly the commit that was
 * looked at. Who finds it moved has lost, and looks again. Hooks are not run and nothing is signed.
 */
export interface BoardPort {
  find(from: string): string | null;
  open(file: string): Promise<BoardRepository>;
}

export interface Change {
  bytes: Buffer;
  /** The first line is the subject. */
  message: string;
  agent: string;
}

export interface BoardRepository {
  readonly file: string;
  /** As HEAD has it. */
  read(): Promise<BoardVersion>;
  /** For a change; refuses where none may be made. */
  look(): Promise<BoardTip>;
  /** The new tip, or null if somebody was faster. */
  commit(tip: BoardTip, change: Change): Promise<BoardTip | null>;
  /** Brings the index and the file up to date. What it could not do, or null. */
  follow(tip: BoardTip): Promise<string | null>;
  /** After having lost, before looking again. */
  pause(tries: number): Promise<void>;
  history(): Promise<HistoryEntry[]>;
  blobs(oids: readonly string[]): Promise<Map<string, Buffer>>;
}

/** `tell` hears what is waited for, if that takes long. */
export function boardGit(tell: (sentence: string) => void, patience = PATIENCE): BoardPort {
  const waitFor = (lock: string) => waitForLock(lock, tell, patience);
  return { find: findBoard, open: async (file) => new GitBoard(await placeOf(file), waitFor) };
}

class GitBoard implements BoardRepository {
  readonly #place: BoardPlace;
  readonly #waitFor: (lock: string) => Promise<void>;
  #variables: Map<string, string> | null = null;
  #note: OwnNote | null = null;

  constructor(place: BoardPlace, waitFor: (lock: string) => Promise<void>) {
    this.#place = place;
    this.#waitFor = waitFor;
  }

  get file(): string {
    return this.#place.file;
  }

  async read(): Promise<BoardVersion> {
    return readVersion(this.#place);
  }

  /** Another change may be half way through the index and the file: then a moment later they fit. */
  async look(): Promise<BoardTip> {
    for (let tries = 0; ; tries++) {
      try {
        return lookForChange(this.#place);
      } catch (error) {
        const isPassing = isVivError(error, "WRONG_STATE") && "how" in error.details;
        if (!isPassing || tries === 4) throw error;
        await this.pause(tries);
      }
    }
  }

  async commit(tip: BoardTip, { bytes, message, agent }: Change): Promise<BoardTip | null> {
    const format = formatOf(tip.commit);
    const blob = named({ kind: "blob", bytes }, format);
    const objects = [blob];
    let { oid } = blob;
    for (const { bytes: tree, entry } of tip.trees.toReversed()) {
      const changed = named({ kind: "tree", bytes: treeWith(tree, entry, oid) }, format);
      objects.push(changed);
      oid = changed.oid;
    }
    this.#variables ??= gitVariables(this.#place.top);
    const { author, committer } = identityFor(agent, this.#variables);
    const heads = [`tree ${oid}`, `parent ${tip.commit}`, `author ${author}`];
    const text = [...heads, `committer ${committer}`, "", message].join("\n");
    const commit = named({ kind: "commit", bytes: Buffer.from(text) }, format);
    const note = await this.#keep([...objects, commit], tip.blob, blob.oid);
    const made = commit.oid;
    const subject = message.split("\n")[0] as string;
    const move = this.#moveBranch(tip, made, subject);
    if (move === "moved") {
      this.#note = note;
      return { ...tip, commit: made, blob: blob.oid, bytes, isBehind: true };
    }
    note.remove();
    if (move !== "lost") await this.#waitFor(move.lock);
    return null;
  }

  /** Before the branch moves: from then on the note says that nobody edited what is behind. */
  async #keep(objects: readonly NamedObject[], from: string, to: string): Promise<OwnNote> {
    try {
      if (!this.#wrote(objects)) {
        const stdin = packOf(objects, formatOf(from));
        await gitBytes(["unpack-objects", "-q"], { cwd: this.#place.top, stdin });
      }
      return writeNote(this.#place, from, to);
    } catch (cause) {
      const said = (cause as Error).message;
      // What the disk says of it is before git's last word.
      const all = `${said} ${isVivError(cause) ? (cause.details.stderr ?? "") : ""}`;
      const message = `nothing can be committed in ${this.#place.top}: ${said}`;
      throw new VivError(reasonIn(all), message, {}, { cause });
    }
  }

  /** Without a process. Where that is not possible git does it, or says why it cannot either. */
  #wrote(objects: readonly NamedObject[]): boolean {
    if (!areFilesEnough(this.#variables ?? new Map())) return false;
    try {
      writeLoose(this.#place.commonDir, objects);
      return true;
    } catch {
      return false;
    }
  }

  #moveBranch(tip: BoardTip, made: string, subject: string): "moved" | "lost" | { lock: string } {
    const ref = `refs/heads/${tip.branch}`;
    const args = ["update-ref", "-m", `viv board: ${subject}`, ref, made, tip.commit];
    const answer = askGitNow(args, { cwd: this.#place.top });
    if (answer.status === 0) return "moved";
    const lock = lockIn(answer.stderr, this.#place.top);
    if (lock !== null) return { lock };
    // A lock that cannot be made (read-only, full) is nobody's doing: to try again helps nothing.
    const isLost = /but expected|cannot lock ref/i.test(answer.stderr);
    if (isLost && !/unable to create ('|directory)/i.test(answer.stderr)) return "lost";
    const message = `the branch ${tip.branch} could not be moved: ${lastWord(answer.stderr)}.`;
    throw new VivError(reasonIn(answer.stderr), message, { stderr: answer.stderr });
  }

  async follow(tip: BoardTip): Promise<string | null> {
    const tipNow = () => commitInFile(this.#place, tip.branch);
    const trouble = await follow(this.#place, tip, this.#note, tipNow);
    this.#note = null;
    return trouble;
  }

  /** Up to a twentieth of a second: who wins needs some ten milliseconds. */
  async pause(tries: number): Promise<void> {
    await wait(growingPause(tries + 1, { first: 5, longest: 50 }) * (0.5 + Math.random()));
  }

  history(): Promise<HistoryEntry[]> {
    return boardHistory(this.#place);
  }

  blobs(oids: readonly string[]): Promise<Map<string, Buffer>> {
    return readBlobs(this.#place, oids);
  }
}

/** Of what the system or git said. */
function reasonIn(said: string): "DISK_FULL" | "READ_ONLY" | "RUN_INVALID" {
  if (/no space left|disk quota|ENOSPC|EDQUOT/i.test(said)) return "DISK_FULL";
  return /permission|read-only|EACCES|EPERM|EROFS/i.test(said) ? "READ_ONLY" : "RUN_INVALID";
}
