/**
 * Every failure a caller can act on is one of these codes. The message is one sentence that says
 * what happened and what to do next; `details` carries the facts for programs.
 */
export const ERROR_CODES = [
  "INVALID", // the input breaks a rule of the format
  "USAGE", // the command line makes no sense
  "RUN_NOT_FOUND", // no run directory there
  "RUN_INVALID", // there is something, but it cannot serve as a run
  "TASK_NOT_FOUND",
  "WARRANT_NOT_FOUND", // no such warrant, or dog
  "TARGET_NOT_FOUND", // no session, process, task or agent of that name
  "TASK_EXISTS", // the id is taken, in the state named in details.state
  "DEPENDENCY_CYCLE",
  "WRONG_STATE", // the transition is not allowed from the state the task is in
  "UNPROVEN", // it would be done without the proof that it asks for
  "CLAIM_LOST", // this claim is no longer the current one
  "WORKER_TAKEN", // a live worker holds this name
  "DISK_FULL",
  "READ_ONLY",
  "DISK_FAULT", // the disk or its filesystem failed
  "EXHAUSTED", // no file descriptor, memory or process left
  "LOCKED", // a shared lock was not free in time
  "UNSUPPORTED", // the machine lacks something, named in the message
  "CORRUPT", // data on disk that cannot be read as what it should be
  "INTERRUPTED", // Ctrl-C at a question
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** Exit statuses of `viv`, documented in SPEC.md §11. */
export const EXIT_STATUS: Record<ErrorCode, number> = {
  USAGE: 2,
  INVALID: 2,
  RUN_NOT_FOUND: 3,
  TASK_NOT_FOUND: 3,
  WARRANT_NOT_FOUND: 3,
  TARGET_NOT_FOUND: 3,
  TASK_EXISTS: 4,
  DEPENDENCY_CYCLE: 4,
  WRONG_STATE: 4,
  UNPROVEN: 4,
  CLAIM_LOST: 4,
  WORKER_TAKEN: 4,
  RUN_INVALID: 5,
  DISK_FULL: 5,
  READ_ONLY: 5,
  DISK_FAULT: 5,
  EXHAUSTED: 5,
  LOCKED: 5,
  UNSUPPORTED: 5,
  CORRUPT: 5,
  INTERRUPTED: 130,
};

export class VivError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = "VivError";
    this.code = code;
    this.details = details;
  }
}

/** True for a VivError, also one from another copy of this package (a bundle and its tests). */
export function isVivError(value: unknown, code?: ErrorCode): value is VivError {
  return (
    value instanceof Error &&
    value.name === "VivError" &&
    (code === undefined || (value as VivError).code === code)
  );
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Null when it is refused, with a VivError. */
export async function unlessRefused<T>(
  ask: () => Promise<T>,
  onRefused: (message: string) => void = () => {},
): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (!isVivError(error)) throw error;
    onRefused(error.message);
    return null;
  }
}

/** Null for a file that is damaged. */
export function unlessCorrupt<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isVivError(error, "CORRUPT")) return null;
    throw error;
  }
}
