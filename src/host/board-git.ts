import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isVivError, VivError } from "../model/errors.ts";
import { follow } from "./board-follow.ts";
import { boardHistory, type HistoryEntry, readBlobs } from "./board-history.ts";
import { type Identity, identityFor } from "./board-identity.ts";
import { type OwnNote, writeNote } from "./board-journal.ts";
import { type BoardTip, type BoardVersion, lookForChange, readVersion } from "./board-look.ts";
import { formatOf, type GitObject, oidOf, packOf, treeWith } from "./board-objects.ts";
import { type BoardPlace, findBoard, placeOf } from "./board-place.ts";
import { askGit, gitBytes, lastWord } from "./git.ts";

export type { HistoryEntry } from "./board-history.ts";
export type { BoardTip, BoardVersion } from "./board-look.ts";

/**
 * A board in git. A change is one commit, made beside the index and the files: blob, trees and
 * commit go to git as one pack, then the branch is moved from exactly the commit that was looked
 * at. Who finds it moved has lost, and looks again. Hooks are not run and nothing is signed.
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
  look(agent: string): Promise<BoardTip>;
  /** The new tip, or null if somebody was faster. */
  commit(tip: BoardTip, change: Change): Promise<BoardTip | null>;
  /** Brings the index and the file up to date. What it could not do, or null. */
  follow(tip: BoardTip): Promise<string | null>;
  /** After having lost, before looking again. */
  pause(tries: number): Promise<void>;
  history(): Promise<HistoryEntry[]>;
  blobs(oids: readonly string[]): Promise<Map<string, Buffer>>;
}

export const boardGit: BoardPort = {
  find: findBoard,
  open: async (file) => new GitBoard(await placeOf(file)),
};

class GitBoard implements BoardRepository {
  readonly #place: BoardPlace;
  #identity: { agent: string; answer: Promise<Identity> } | null = null;
  #note: OwnNote | null = null;

  constructor(place: BoardPlace) {
    this.#place = place;
  }

  get file(): string {
    return this.#place.file;
  }

  read(): Promise<BoardVersion> {
    return readVersion(this.#place);
  }

  /** Another change may be half way through the index and the file: then a moment later they fit. */
  async look(agent: string): Promise<BoardTip> {
    // Asked early, to be answered while git looks for other things; who needs it hears of trouble.
    this.#who(agent).catch(() => {});
    for (let tries = 0; ; tries++) {
      try {
        return await lookForChange(this.#place);
      } catch (error) {
        const isPassing = isVivError(error, "WRONG_STATE") && "how" in error.details;
        if (!isPassing || tries === 4) throw error;
        await this.pause(tries);
      }
    }
  }

  async commit(tip: BoardTip, { bytes, message, agent }: Change): Promise<BoardTip | null> {
    const format = formatOf(tip.commit);
    const objects: GitObject[] = [{ kind: "blob", bytes }];
    let oid = oidOf(objects[0] as GitObject, format);
    const blob = oid;
    for (const { bytes: tree, entry } of tip.trees.toReversed()) {
      const changed: GitObject = { kind: "tree", bytes: treeWith(tree, entry, oid) };
      objects.push(changed);
      oid = oidOf(changed, format);
    }
    const { author, committer } = await this.#who(agent);
    const heads = [`tree ${oid}`, `parent ${tip.commit}`, `author ${author}`];
    const text = [...heads, `committer ${committer}`, "", message].join("\n");
    const commit: GitObject = { kind: "commit", bytes: Buffer.from(text) };
    objects.push(commit);
    const made = oidOf(commit, format);
    const note = await this.#keep(packOf(objects, format), tip.blob, blob);
    const subject = message.split("\n")[0] as string;
    if (await this.#moveBranch(tip, made, subject)) {
      this.#note = note;
      return { ...tip, commit: made, blob, bytes, isBehind: true };
    }
    note.remove();
    return null;
  }

  /** Before the branch moves: from then on the note says that nobody edited what is behind. */
  async #keep(pack: Buffer, from: string, to: string): Promise<OwnNote> {
    try {
      await gitBytes(["unpack-objects", "-q"], { cwd: this.#place.top, stdin: pack });
      return writeNote(this.#place, from, to);
    } catch (cause) {
      const said = (cause as Error).message;
      const isFull = isVivError(cause, "DISK_FULL") || /ENOSPC|EDQUOT/.test(said);
      const isReadOnly = /permission|read-only|EACCES|EPERM|EROFS/i.test(said);
      const code = isFull ? "DISK_FULL" : isReadOnly ? "READ_ONLY" : "RUN_INVALID";
      const message = `nothing can be committed in ${this.#place.top}: ${said}`;
      throw new VivError(code, message, {}, { cause });
    }
  }

  async #moveBranch(tip: BoardTip, made: string, subject: string): Promise<boolean> {
    const ref = `refs/heads/${tip.branch}`;
    const args = ["update-ref", "-m", `viv board: ${subject}`, ref, made, tip.commit];
    const answer = await askGit(args, { cwd: this.#place.top });
    if (answer.status === 0) return true;
    if (/but expected|cannot lock ref|\.lock': File exists/i.test(answer.stderr)) return false;
    const message = `the branch ${tip.branch} could not be moved: ${lastWord(answer.stderr)}.`;
    throw new VivError("RUN_INVALID", message, { stderr: answer.stderr });
  }

  async follow(tip: BoardTip): Promise<string | null> {
    const trouble = await follow(this.#place, tip, this.#note, () => this.#tipIs(tip.branch));
    this.#note = null;
    return trouble;
  }

  /** The branch's commit if that can be read without git, as right after it was moved; else null. */
  #tipIs(branch: string): string | null {
    try {
      return readFileSync(join(this.#place.commonDir, "refs/heads", branch), "utf8").trim();
    } catch {
      return null; // packed, or another kind of store: git must be asked
    }
  }

  /** Up to a twentieth of a second: who wins needs some ten milliseconds. */
  async pause(tries: number): Promise<void> {
    await wait(Math.min(50, 5 * 2 ** Math.min(tries, 4)) * (0.5 + Math.random()));
  }

  history(): Promise<HistoryEntry[]> {
    return boardHistory(this.#place);
  }

  blobs(oids: readonly string[]): Promise<Map<string, Buffer>> {
    return readBlobs(this.#place, oids);
  }

  #who(agent: string): Promise<Identity> {
    if (this.#identity?.agent !== agent) {
      this.#identity = { agent, answer: identityFor(agent, this.#place.top) };
    }
    return this.#identity.answer;
  }
}
