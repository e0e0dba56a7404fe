import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { constants } from "node:os";
import { knownPath } from "./handle-paths.ts";

/** What is hit: the function's name, and the path if its first argument is one. */
export type Hits = (name: string, path: string | null) => boolean;

/** Calls that write or change something; the others only look. */
const CHANGES = [
  ...["renameSync", "unlinkSync", "rmSync", "lutimesSync", "futimesSync", "linkSync", "mkdirSync"],
  ...["writeSync", "appendFileSync", "writeFileSync", "ftruncateSync", "copyFileSync", "fsyncSync"],
  ...["fdatasyncSync", "symlinkSync"],
];
const OPENS = ["openSync", "readFileSync", "readdirSync", "opendirSync", "mkdtempSync"];

/**
 * A machine in trouble, for a while: from `begin` to `end` every call of the kind that the error is
 * about fails with it. It ends by itself after so many failures, or when the test says so.
 */
export class Outage {
  failures = 0;
  isOn = false;
  readonly #name: string;
  readonly #hits: Hits;
  readonly #most: number;
  readonly #originals: [Record<string, unknown>, string, unknown][] = [];

  constructor(name: string, hits: Hits = () => true, most = 300) {
    this.#name = name;
    this.#hits = hits;
    this.#most = most;
    for (const call of [...CHANGES, ...OPENS]) this.#replace(fs as never, call);
    this.#replace(childProcess as never, "spawn");
    this.#replace(childProcess as never, "spawnSync");
    syncBuiltinESMExports();
  }

  begin(): void {
    if (this.failures === 0) this.isOn = true;
  }

  end(): void {
    this.isOn = false;
  }

  /** Puts everything back. */
  close(): void {
    for (const [library, name, original] of this.#originals) library[name] = original;
    syncBuiltinESMExports();
  }

  #replace(library: Record<string, unknown>, name: string): void {
    const original = library[name] as (...args: unknown[]) => unknown;
    this.#originals.push([library, name, original]);
    library[name] = Object.assign((...args: unknown[]) => {
      if (this.isOn && this.#concerns(name, args)) this.#fail(name);
      return original(...args);
    }, original);
  }

  #concerns(name: string, args: readonly unknown[]): boolean {
    const isPath = typeof args[0] === "string" && !name.startsWith("spawn");
    const path = isPath ? knownPath(args[0]) : null;
    if (!this.#hits(name, path)) return false;
    const isChange = CHANGES.includes(name) || (name === "openSync" && creates(args[1]));
    switch (this.#name) {
      case "EMFILE":
      case "ENFILE":
        return OPENS.includes(name) || name.startsWith("spawn") || opensToo(name, args[0]);
      case "ENOMEM":
      case "EAGAIN":
        return name.startsWith("spawn");
      case "EIO":
        return isChange || (OPENS.includes(name) && !path?.startsWith("/proc/"));
      case "EROFS":
        return isChange && !(name === "writeSync" && args[0] === 1);
      default:
        return isChange && !["unlinkSync", "rmSync", "renameSync", "lutimesSync"].includes(name);
    }
  }

  #fail(name: string): never {
    if (++this.failures >= this.#most) this.end();
    const number = this.#name === "EDQUOT" ? 122 : (constants.errno as never)[this.#name];
    // As node tells it: of EDQUOT it knows only the number.
    const code = this.#name === "EDQUOT" ? "Unknown system error -122" : this.#name;
    const error = new Error(`${code}: injected, ${name}`);
    throw Object.assign(error, { code, errno: -number, syscall: name });
  }
}

function creates(flags: unknown): boolean {
  if (typeof flags === "number") return (flags & fs.constants.O_CREAT) !== 0;
  return typeof flags === "string" && flags !== "r";
}

function opensToo(name: string, target: unknown): boolean {
  return ["appendFileSync", "writeFileSync", "copyFileSync"].includes(name) && isPath(target);
}

function isPath(target: unknown): boolean {
  return typeof target === "string";
}
