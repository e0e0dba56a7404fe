import { isAbsolute, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isVivError, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import { gitVariables } from "../platform/git/git.ts";
import { type Board, decodeBoard, readBoard } from "./board.ts";
import { type BoardCheckout, checkoutOf, commitInFile, findBoard } from "./checkout.ts";
import { type Change, commitChange, PATIENCE, waitForLock } from "./commit.ts";
import { follow } from "./follow.ts";
import { boardHistory, type HistoryEntry, readBlobs } from "./history.ts";
import type { OwnNote } from "./journal.ts";
import { type BoardTip, type BoardVersion, readTip, readVersion } from "./tip.ts";

export interface BoardPort {
  find(from: string): string | null;
  open(file: string): Promise<BoardRepository>;
}

/** A board in git: read it, or change it by one commit (`changeBoard` in change.ts does both). */
export interface BoardRepository {
  readonly file: string;
  /** As HEAD has it. */
  read(): Promise<BoardVersion>;
  /** As HEAD has it, for a change; throws where none may be made. */
  look(): Promise<BoardTip>;
  /** The new tip, or null if the branch has moved since `look`. */
  commit(tip: BoardTip, change: Change): Promise<BoardTip | null>;
  /** Brings the index and the file up to date. A warning when they stay behind, or null. */
  follow(tip: BoardTip): Promise<string | null>;
  /** Between a lost race and the next look. */
  pause(tries: number): Promise<void>;
  history(): Promise<HistoryEntry[]>;
  blobs(oids: readonly string[]): Promise<Map<string, Buffer>>;
}

/** `notify` gets a sentence when a lock is waited for. */
export function boardGit(notify: (sentence: string) => void, patience = PATIENCE): BoardPort {
  const waitFor = (lock: string) => waitForLock(lock, notify, patience);
  return { find: findBoard, open: async (file) => new GitBoard(await checkoutOf(file), waitFor) };
}

class GitBoard implements BoardRepository {
  readonly #checkout: BoardCheckout;
  readonly #waitForLock: (lock: string) => Promise<void>;
  #variables: Map<string, string> | null = null;
  /** Of the commit that was made last, until the index and the file have followed. */
  #note: OwnNote | null = null;

  constructor(checkout: BoardCheckout, waitFor: (lock: string) => Promise<void>) {
    this.#checkout = checkout;
    this.#waitForLock = waitFor;
  }

  get file(): string {
    return this.#checkout.file;
  }

  async read(): Promise<BoardVersion> {
    return readVersion(this.#checkout);
  }

  /** Another change may be half way through the index and the file: then a moment later they fit. */
  async look(): Promise<BoardTip> {
    for (let tries = 0; ; tries++) {
      try {
        return readTip(this.#checkout);
      } catch (error) {
        const isPassing = isVivError(error, "WRONG_STATE") && "how" in error.details;
        if (!isPassing || tries === 4) throw error;
        await this.pause(tries);
      }
    }
  }

  async commit(tip: BoardTip, change: Change): Promise<BoardTip | null> {
    this.#variables ??= gitVariables(this.#checkout.top);
    const around = {
      ...{ checkout: this.#checkout, variables: this.#variables },
      waitForLock: this.#waitForLock,
    };
    const made = await commitChange(around, tip, change);
    if (made === null) return null;
    this.#note = made.note;
    return made.tip;
  }

  async follow(tip: BoardTip): Promise<string | null> {
    const tipNow = () => commitInFile(this.#checkout, tip.branch);
    const warning = await follow(this.#checkout, tip, this.#note, tipNow);
    this.#note = null;
    return warning;
  }

  /** Up to a twentieth of a second: the winner needs some ten milliseconds. */
  async pause(tries: number): Promise<void> {
    await wait(growingPause(tries + 1, { first: 5, longest: 50 }) * (0.5 + Math.random()));
  }

  history(): Promise<HistoryEntry[]> {
    return boardHistory(this.#checkout);
  }

  blobs(oids: readonly string[]): Promise<Map<string, Buffer>> {
    return readBlobs(this.#checkout, oids);
  }
}

export interface BoardWhere {
  /** `--board` */
  board?: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** `--board`, then VIV_BOARD, then the nearest board.org here or above. */
export async function openBoard(port: BoardPort, where: BoardWhere): Promise<BoardRepository> {
  const named = where.board ?? (where.env.VIV_BOARD || undefined);
  if (named === "") throw new VivError("USAGE", "--board is empty; it is the path of an org file.");
  const path = named === undefined || isAbsolute(named) ? named : join(where.cwd, named);
  const file = path ?? port.find(where.cwd);
  if (file !== null) return port.open(file);
  const message = "there is no board.org here or above; name the board with --board FILE.";
  throw new VivError("RUN_NOT_FOUND", message, { cwd: where.cwd });
}

/** The board as it is committed. */
export async function readCommitted(repository: BoardRepository): Promise<Board> {
  return readBoard(decodeBoard((await repository.read()).bytes).text);
}
