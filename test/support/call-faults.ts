import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { knownPath } from "./handle-paths.ts";

/** As the system says it: node has no name for EDQUOT. */
const ERRORS: Record<string, { code: string; errno: number }> = {
  EIO: { code: "EIO", errno: -5 },
  ENOSPC: { code: "ENOSPC", errno: -28 },
  EDQUOT: { code: "Unknown system error -122", errno: -122 },
  EMFILE: { code: "EMFILE", errno: -24 },
  EROFS: { code: "EROFS", errno: -30 },
};
export const ERRNOS = Object.keys(ERRORS);

type Call = (...args: unknown[]) => unknown;
const library = fs as unknown as Record<string, Call>;

/** Reading as well as writing. existsSync is not among them: it has no errors to give. */
const CALLS = [
  "openSync",
  "readSync",
  "writeSync",
  "fstatSync",
  "lstatSync",
  "readdirSync",
  "renameSync",
  "linkSync",
  "unlinkSync",
  "mkdirSync",
  "lutimesSync",
  "fsyncSync",
  "fdatasyncSync",
];
const IN_BACKGROUND = ["fsync", "fdatasync"];

/** The n-th call of all (from 1) fails with this error, and no other does. */
export class OneCallFails {
  calls = 0;
  happened = false;
  readonly log: string[] = [];
  readonly #originals = new Map<string, Call>();

  constructor(error: string, at: number) {
    const strike = (name: string, args: unknown[]): Error | null => {
      this.calls++;
      this.log.push(`${this.calls} ${name} ${knownPath(args[0]).split("/").slice(-2).join("/")}`);
      if (this.calls !== at) return null;
      this.happened = true;
      return Object.assign(new Error(`${error}: injected, ${name}`), {
        ...ERRORS[error],
        syscall: name,
      });
    };
    for (const name of CALLS) {
      this.#replace(name, (original, args) => {
        const failure = strike(name, args);
        if (failure !== null) throw failure;
        return original(...args);
      });
    }
    for (const name of IN_BACKGROUND) {
      this.#replace(name, (original, args) => {
        const failure = strike(name, args);
        if (failure === null) return original(...args);
        process.nextTick(args.at(-1) as (error: Error) => void, failure);
      });
    }
    syncBuiltinESMExports();
  }

  #replace(name: string, call: (original: Call, args: unknown[]) => unknown): void {
    const original = library[name] as Call;
    this.#originals.set(name, original);
    library[name] = (...args) => call(original, args);
  }

  heal(): void {
    for (const [name, original] of this.#originals) library[name] = original;
    syncBuiltinESMExports();
  }
}
