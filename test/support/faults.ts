import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { knownPath } from "./handle-paths.ts";

/**
 * What can go wrong at the n-th change to the file system:
 *   die      the process ends before the change; nothing it does later reaches the disk
 *   tear     the same, but half of what is being written does
 *   enospc   the disk is full from here on, until `heal`
 */
export type Fault = "die" | "tear" | "enospc";

/** What code sees of a process that is dead already: it runs on, but without effect. */
export class Dead extends Error {
  constructor() {
    super("this process is dead");
    this.name = "Dead";
  }
}

type Change = (...args: unknown[]) => unknown;
const library = fs as unknown as Record<string, Change>;

/** The calls that change something. The ones that need room on the disk are marked. */
const CHANGES: Record<string, { needsRoom: boolean }> = {
  renameSync: { needsRoom: false },
  unlinkSync: { needsRoom: false },
  rmdirSync: { needsRoom: false },
  lutimesSync: { needsRoom: false },
  linkSync: { needsRoom: true },
  mkdirSync: { needsRoom: true },
  openSync: { needsRoom: true },
  writeSync: { needsRoom: true },
  appendFileSync: { needsRoom: true },
  writeFileSync: { needsRoom: true },
};

/** Counts the changes and lets the first from `at` (from 1) on go wrong that can. */
export class Faults {
  changes = 0;
  /** What happened, for the message of a test that fails. */
  readonly log: string[] = [];
  /** The change that went wrong first: the one numbered `at`, or the next of those that can. */
  struckAt = 0;
  #happened = false;
  readonly #originals = new Map<string, Change>();

  constructor(fault: Fault, at: number) {
    for (const [name, { needsRoom }] of Object.entries(CHANGES)) {
      const original = library[name] as Change;
      this.#originals.set(name, original);
      library[name] = (...args) => {
        if (name === "openSync" && !creates(args)) return original(...args);
        this.changes++;
        this.log.push(
          `${this.changes} ${name} ${knownPath(args[0]).split("/").slice(-2).join("/")}`,
        );
        if (this.changes >= at) this.#strike(fault, name, needsRoom, original, args);
        return original(...args);
      };
    }
    syncBuiltinESMExports();
  }

  #strike(fault: Fault, name: string, needsRoom: boolean, original: Change, args: unknown[]): void {
    if (fault === "enospc" && !needsRoom) return;
    // Only a write can be torn: of the other changes, "die" tells the story.
    if (fault === "tear" && !this.#happened && !WRITES.includes(name)) return;
    if (!this.#happened) this.struckAt = this.changes;
    if (fault === "enospc") {
      this.#happened = true;
      const error = new Error(`ENOSPC: no space left on device, ${name}`);
      throw Object.assign(error, { code: "ENOSPC", errno: -28, syscall: name });
    }
    if (fault === "tear" && !this.#happened) tear(name, original, args);
    this.#happened = true;
    throw new Dead();
  }

  get happened(): boolean {
    return this.#happened;
  }

  heal(): void {
    for (const [name, original] of this.#originals) library[name] = original;
    syncBuiltinESMExports();
  }
}

function creates(args: unknown[]): boolean {
  const [path, flags] = args;
  if (typeof flags === "number") return (flags & fs.constants.O_CREAT) !== 0;
  if (flags === "a" && fs.existsSync(String(path))) return false;
  return typeof flags === "string" && flags !== "r";
}

const WRITES = ["writeSync", "appendFileSync", "writeFileSync"];

function tear(name: string, original: Change, args: unknown[]): void {
  const [target, data, ...rest] = args;
  const bytes = Buffer.isBuffer(data) ? data : Buffer.from(String(data));
  const from = name === "writeSync" && typeof rest[0] === "number" ? rest[0] : 0;
  const half = bytes.subarray(from, from + Math.ceil((bytes.length - from) / 2));
  if (half.length > 0) original(target, half, ...(name === "writeSync" ? [] : rest));
}
