import { createHash } from "node:crypto";
import { isRecord } from "../base/json.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import type { LedgerPosition } from "../queue/store.ts";
import type { Target } from "./config.ts";
import { type Message, newMessage, parseMessage } from "./message.ts";
import { messageId } from "./message-id.ts";
import { isWanted, type News } from "./news.ts";
import type { OutboxFiles } from "./outbox-files.ts";
import { MOST_REQUESTS } from "./plan.ts";

/** Where news is read from, at a position that lasts. */
export interface Source {
  /** The news after that position. `isIdle`: as it was told last. */
  read(from: LedgerPosition | "end", isIdle: boolean, isLast: boolean): Promise<Reading>;
}

export interface Reading {
  news: News[];
  position: LedgerPosition;
  isIdle: boolean;
  /** Look again after so long, though nothing may have changed. */
  againMs?: number;
}

/** `.position.json`. */
interface Position {
  /** How much of the ledger is entered; null: it has not begun. */
  read: LedgerPosition | null;
  idle: boolean;
  /** Since when each target is there: what was before is not for it. */
  targets: Record<string, string>;
  /** Written together with `read`, so that a crash before they are all entered loses none. */
  pending: Message[];
}

/** The lock is held for as long as it takes to read news, never while a request is under way. */
const WAIT = { waitMs: 30_000 };

/**
 * Enters news into an outbox: a message for each target that wants it, each once. What the ledger
 * holds is entered by one process at a time, at a position that lasts; other news by its fact, whose
 * name is the same in every process.
 */
export class Intake {
  readonly #files: OutboxFiles;
  readonly #place: string;
  readonly #targets: () => readonly Target[];
  readonly #now: () => number;
  readonly #source: Source | null;
  /** For the first look: what happened since is news. */
  #begun: string | null;

  constructor(
    files: OutboxFiles,
    options: {
      place: string;
      targets: () => readonly Target[];
      now: () => number;
      source?: Source;
    },
  ) {
    this.#files = files;
    this.#place = options.place;
    this.#targets = options.targets;
    this.#now = options.now;
    this.#source = options.source ?? null;
    this.#begun = new Date(options.now()).toISOString();
  }

  /** Reads on in the source. `isLast`: this process ends, so what is over is over. */
  take(isLast = false): Promise<{ entered: number; againMs?: number }> {
    this.#files.make();
    return withFileLock(this.#files.locks.intake, () => this.#take(isLast), WAIT);
  }

  /** Of another room, and no ledger. */
  async enter(news: News): Promise<number> {
    this.#files.make();
    const { targets } = await withFileLock(
      this.#files.locks.intake,
      () => this.#withTargets(this.#read()),
      WAIT,
    );
    return this.#enterAll(this.#messages([news], targets));
  }

  async #take(isLast: boolean): Promise<{ entered: number; againMs?: number }> {
    const before = this.#withTargets(this.#read());
    let entered = this.#enterAll(before.pending);
    if (this.#source === null) return { entered };
    const reading = await this.#source.read(before.read ?? "end", before.idle, isLast);
    const pending = this.#messages(reading.news, before.targets);
    const position = { ...before, read: reading.position, idle: reading.isIdle, pending };
    if (pending.length > 0) {
      this.#files.writePosition(position);
      entered += this.#enterAll(pending);
    }
    const isSame = before.read !== null && reading.isIdle === before.idle;
    // Lines without news may be read again: writing for each of them would cost more.
    const isFar = isLast || bytesOf(reading.position) - bytesOf(before.read ?? {}) > FAR_BYTES;
    const isChanged = before.pending.length > 0 || !isSame || isFar;
    // The next look forgets what is entered now: one write for each, not two.
    if (isLast || (pending.length === 0 && isChanged)) {
      this.#files.writePosition({ ...position, pending: [] });
    }
    return { entered, againMs: reading.againMs };
  }

  #read(): Position {
    const found = this.#files.readRecord("position");
    const fresh: Position = { read: null, idle: true, targets: {}, pending: [] };
    if (!isRecord(found?.targets)) return fresh;
    const pending = Array.isArray(found.pending) ? found.pending : [];
    return {
      read: isRecord(found.read) ? (found.read as LedgerPosition) : null,
      idle: found.idle !== false,
      targets: found.targets as Record<string, string>,
      pending: pending.flatMap((one) => {
        const id = isRecord(one) && typeof one.id === "string" ? one.id : "";
        return parseMessage(JSON.stringify(one), id) ?? [];
      }),
    };
  }

  /** A target begins when it is first seen; one that is gone is forgotten. */
  #withTargets(position: Position): Position {
    const at = this.#begun ?? new Date(this.#now()).toISOString();
    this.#begun = null;
    const names = this.#targets().map(({ name }) => name);
    const targets = Object.fromEntries(
      names.map((name) => [name, position.targets[name] ?? at] as const),
    );
    if (JSON.stringify(targets) !== JSON.stringify(position.targets)) {
      this.#files.writePosition({ ...position, targets });
    }
    return { ...position, targets };
  }

  #enterAll(messages: readonly Message[]): number {
    return messages.filter((one) => this.#files.enter(one)).length;
  }

  /** One for each event; when many come at once, one for all of them. */
  #messages(news: readonly News[], since: Readonly<Record<string, string>>): Message[] {
    const entered = new Date(this.#now()).toISOString();
    return this.#targets().flatMap((target): Message[] => {
      const begun = since[target.name] ?? entered;
      const wanted = news.filter((one) => one.at >= begun && isWanted(one, target));
      const about = { target: target.name, place: this.#place, entered };
      const [first] = wanted;
      if (first === undefined) return [];
      if (wanted.length <= MOST_REQUESTS) {
        return wanted.map((one) =>
          newMessage({ ...about, id: messageId(one, target.name) }, [one]),
        );
      }
      const facts = createHash("sha256").update(wanted.map(({ fact }) => fact).join("\n"));
      const digest = { ...first, fact: facts.digest("hex"), subject: `and-${wanted.length - 1}` };
      return [newMessage({ ...about, id: messageId(digest, target.name) }, wanted)];
    });
  }
}

const FAR_BYTES = 256 * 1024;

function bytesOf(position: LedgerPosition): number {
  return Object.values(position).reduce((sum, one) => sum + one, 0);
}
