import { closeSync, constants, fstatSync, readSync, writeSync } from "node:fs";
import { openSync } from "../../platform/files/beneath.ts";
import { ignoreMachineErrors, obstacle } from "./atomic.ts";

/**
 * How several busy claimers share a lane without getting in each other's way: each announces the
 * piece of the lane it will try next, and the others leave that piece to it. Without this, all of
 * them look at every line, and three of four looks are in vain.
 *
 * An announcement is one line `LANE FROM TO WHO` appended to a file; the order in the file decides
 * between two that want the same. It is a hint with a short life: who has announced a piece and
 * then does not come (it died, or its task takes long) finds that the others have taken it over
 * after OVERDUE_MS, and the rename decides about each task as ever.
 */
export interface Piece {
  from: number;
  to: number;
  who: string;
  /** When we read of it, by performance.now(). */
  seen: number;
  /** Its owner has announced a later one, so it has tried all of this one. */
  finished: boolean;
}

export const OVERDUE_MS = 50;
/** Older announcements are overdue by the time anybody reads them. */
const TAIL = 4096;
const scratch = Buffer.allocUnsafe(16 * 1024);

let serial = 0;

export class Shares {
  readonly #path: string;
  readonly #lane: string;
  readonly #me = `${process.pid}.${serial++}.${Math.floor(Math.random() * 36 ** 6).toString(36)}`;
  readonly #now: () => number;
  #fd = -1;
  #offset = 0;
  #rest = "";
  /** All before this has been announced by somebody. */
  #announced = 0;
  /** Pieces of others that we have not come to yet, in the order of the lane. */
  #pieces: Piece[] = [];
  /** Pieces of others that we passed over, and may have to come back to. */
  #passed: Piece[] = [];
  #heard = false;
  /** Where the last piece begins that we announced first. */
  #mine = -1;

  constructor(path: string, lane: string, now: () => number = () => performance.now()) {
    this.#path = path;
    this.#lane = lane;
    this.#now = now;
  }

  /** Has anybody else announced something since this was last asked? */
  heard(): boolean {
    const heard = this.#heard;
    this.#heard = false;
    return heard;
  }

  get announced(): number {
    return this.#announced;
  }

  /** Announces a piece. False: somebody else was first, and it is theirs. */
  announce(from: number, to: number): boolean {
    if (!this.#open()) return true;
    const line = Buffer.from(`${this.#lane} ${from} ${to} ${this.#me}\n`, "latin1");
    let told = false;
    ignoreMachineErrors(() => {
      told = writeSync(this.#fd, line) === line.length;
    });
    if (!told) return true; // On a full disk the renames decide, as they would without us.
    this.#mine = -1;
    this.read();
    if (this.#mine === from) return true;
    if (this.#announced > from) return false;
    // Neither ours nor anybody else's: the file was cut, or is not what we wrote to. The renames
    // decide, and from here on it is read again.
    this.#offset = fstatSync(this.#fd).size;
    this.#rest = "#";
    return true;
  }

  /** Takes note of what was announced since. */
  read(): void {
    if (!this.#open()) return;
    for (;;) {
      const n = readSync(this.#fd, scratch, 0, scratch.length, this.#offset);
      if (n === 0) return;
      this.#offset += n;
      const lines = (this.#rest + scratch.toString("latin1", 0, n)).split("\n");
      this.#rest = (lines.pop() as string).slice(-200);
      for (const line of lines) this.#take(line);
    }
  }

  #take(line: string): void {
    const match = /^(\w+) (\d{1,15}) (\d{1,15}) (\S{1,64})$/.exec(line);
    if (match === null || match[1] !== this.#lane) return;
    const [from, to, who] = [Number(match[2]), Number(match[3]), match[4] as string];
    if (from < this.#announced || to <= from) return; // came second
    this.#announced = to;
    if (who === this.#me) {
      this.#mine = from;
      return;
    }
    this.#heard = true;
    for (const piece of this.#pieces) if (piece.who === who) piece.finished = true;
    this.#passed = this.#passed.filter((piece) => piece.who !== who);
    this.#pieces.push({ from, to, who, seen: this.#now(), finished: false });
  }

  /** Where to go on from `offset`: behind the pieces of others that begin there. */
  passOver(offset: number): number {
    let at = offset;
    for (let piece = this.#pieces[0]; piece && piece.from <= at; piece = this.#pieces[0]) {
      this.#pieces.shift();
      if (piece.to <= at) continue;
      if (!piece.finished) this.#passed.push({ ...piece, from: at });
      at = piece.to;
    }
    return at;
  }

  /** Where the next piece of somebody else begins. */
  get border(): number {
    return this.#pieces[0]?.from ?? Number.POSITIVE_INFINITY;
  }

  /** A piece that was passed over and whose owner does not seem to come; with `any`, the next. */
  overdue(any: boolean): Piece | undefined {
    const first = this.#passed[0];
    if (first === undefined) return undefined;
    if (!any && this.#now() - first.seen < OVERDUE_MS) return undefined;
    return this.#passed.shift();
  }

  /** What lies before this has been tried, by us or by those who finished their pieces. */
  get tried(): number {
    return Math.min(...this.#passed.map((piece) => piece.from));
  }

  get passed(): readonly Piece[] {
    return this.#passed;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  /** False when there is no place for them: then there are no announcements. */
  #open(): boolean {
    if (this.#fd >= 0) return true;
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
    const flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
    try {
      this.#fd = openSync(this.#path, flags, 0o600);
    } catch (error) {
      const code = obstacle(error) ?? "";
      // They save looks, nothing depends on them.
      if (!["ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "ENXIO", "EACCES"].includes(code)) throw error;
      return false;
    }
    const stats = fstatSync(this.#fd);
    if (!stats.isFile()) {
      this.close();
      return false;
    }
    this.#offset = Math.max(0, stats.size - TAIL);
    // The first line may be half of one; as such it means nothing.
    if (this.#offset > 0) this.#rest = "#";
    return true;
  }
}
