import { type ErrorCode, isVivError, VivError } from "./errors.ts";

/**
 * Errors of the machine. They are never the task's fault: the caller keeps its claims and tries
 * again.
 */

/** Those that node's own table lacks (Linux): it calls them "Unknown system error -122". */
const UNNAMED: Readonly<Record<number, string>> = { [-122]: "EDQUOT", [-117]: "EUCLEAN" };

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: "DISK_FULL",
  EDQUOT: "DISK_FULL",
  EROFS: "READ_ONLY",
  EACCES: "READ_ONLY",
  EPERM: "READ_ONLY",
  EIO: "DISK_FAULT",
  EUCLEAN: "DISK_FAULT",
  ESTALE: "DISK_FAULT",
  EMFILE: "EXHAUSTED",
  ENFILE: "EXHAUSTED",
  ENOMEM: "EXHAUSTED",
  EAGAIN: "EXHAUSTED",
};

/** The system's name for the error, also where node has none. */
export function errno(error: unknown): string | undefined {
  const { code, errno: number } = (error ?? {}) as NodeJS.ErrnoException;
  return (number === undefined ? undefined : UNNAMED[number]) ?? code;
}

/** Null when the file that `act` opens is not there. */
export function ifThere<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (errno(error) === "ENOENT") return null;
    throw error;
  }
}

/** False when there is already something in the place of what `act` makes. */
export function unlessTaken(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (errno(error) === "EEXIST") return false;
    throw error;
  }
}

/** The code of a machine error, raw or translated; undefined for any other error. */
export function machineErrorOf(error: unknown): ErrorCode | undefined {
  if (isVivError(error)) return TROUBLES.has(error.code) ? error.code : undefined;
  return CODES[errno(error) ?? ""];
}

const TROUBLES: ReadonlySet<ErrorCode> = new Set(Object.values(CODES));

/** Turns an error of the filesystem into one that says what to do. Others pass unchanged. */
export function translate(error: unknown, doing: string): unknown {
  const code = isVivError(error) ? undefined : machineErrorOf(error);
  if (code === undefined) return error;
  const said = (error as Error).message;
  const message: Partial<Record<ErrorCode, string>> = {
    DISK_FULL: `the disk is full while ${doing}; nothing was lost, free some space and run it again.`,
    READ_ONLY: `no permission while ${doing} (${said}); check who owns the run directory and whether it is mounted read-only.`,
    DISK_FAULT: `the disk failed while ${doing} (${said}); see what the system's log says about it, then run it again.`,
    EXHAUSTED: `the machine has run out of file descriptors, memory or processes while ${doing} (${said}); end something or raise the limit (ulimit -n), then run it again.`,
  };
  return new VivError(code, message[code] as string, { errno: errno(error) }, { cause: error });
}

/**
 * For the edges, where a command line or a request is answered: a path that was given and that no machine
 * could have (too long, with a NUL, below a file) is the caller's mistake, no bug. Others pass unchanged.
 */
export function refusePath(error: unknown): unknown {
  const code = errno(error) ?? "";
  const isPath =
    ["ENAMETOOLONG", "ENOTDIR"].includes(code) ||
    (code === "ERR_INVALID_ARG_VALUE" && /null bytes/.test((error as Error).message));
  if (!isPath || isVivError(error)) return error;
  const said = (error as Error).message.slice(0, 300);
  const options = { cause: error };
  return new VivError("INVALID", `a path that was given cannot be used: ${said}`, {}, options);
}
