import { refusePath, translate } from "../base/errno.ts";
import { type ErrorCode, EXIT_STATUS, isVivError, messageOf } from "../base/errors.ts";

/** A refusal that only HTTP has: the status says enough for a program. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: keyof typeof CODES, message: string) {
    super(message);
    this.status = status;
    this.code = CODES[status];
  }
}

const CODES = {
  400: "USAGE",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "WRONG_METHOD",
  406: "NOT_ACCEPTABLE",
  413: "TOO_LARGE",
  415: "WRONG_TYPE",
  429: "TOO_MANY",
  503: "UNAVAILABLE",
} as const;

/** By the exit status of the command line. */
const BY_EXIT: Readonly<Record<number, number>> = { 2: 400, 3: 404, 4: 409, 5: 503, 130: 503 };

export interface ErrorAnswer {
  status: number;
  body: { error: { code: string; message: string; [detail: string]: unknown } };
}

export function errorAnswer(thrown: unknown, onBug: (error: unknown) => void): ErrorAnswer {
  if (thrown instanceof HttpError) {
    return {
      status: thrown.status,
      body: { error: { code: thrown.code, message: thrown.message } },
    };
  }
  const error = refusePath(translate(thrown, "answering a request"));
  if (isVivError(error)) {
    const { code, message, details } = error;
    return { status: statusOf(code, details), body: { error: { ...details, code, message } } };
  }
  onBug(error);
  const message = `this is a bug in viv, please report it: ${messageOf(error)}`;
  return { status: 500, body: { error: { code: "BUG", message } } };
}

/** The server's own run, which its error names by its path, may come back; a crew or a board is not there. */
function statusOf(code: ErrorCode, details: Readonly<Record<string, unknown>>): number {
  if (code === "RUN_NOT_FOUND" && "path" in details) return 503;
  return BY_EXIT[EXIT_STATUS[code]] ?? 500;
}
