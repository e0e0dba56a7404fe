import { signal } from "@preact/signals";

/** Asking the server: operations by name, as docs/spec/server.md has them. */

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** The address of an operation: `crew ps` is `/api/crew/ps`. Unset values are left out. */
export function apiPath(operation: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, v]) => v !== undefined && v !== null && v !== "");
  const words = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  const path = operation.split(" ").map(encodeURIComponent).join("/");
  return `/api/${path}${words === "" ? "" : `?${words}`}`;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await getDated<T>(path, signal)).data;
}

export const SESSION = "/api/session";

/** The first view has what it shows: what stands beside it may be asked for. */
export const hasAnswer = signal(false);

/** `againIn`: it was made for an earlier request; so many ms later a newer one can be had. */
export async function getDated<T>(
  path: string,
  signal?: AbortSignal,
): Promise<{ data: T; againIn: number | null }> {
  const response = await answered(path, { signal, headers: { accept: "application/json" } });
  const againIn = Number(response.headers.get("x-viv-again-in"));
  const data = (await response.json()) as T;
  if (path !== SESSION) hasAnswer.value = true;
  return { data, againIn: againIn > 0 ? againIn : null };
}

/** Any operation, with its input as the body. Of a stream: its output, once it has ended. */
export async function post<T>(operation: string, input: object): Promise<T> {
  const response = await answered(apiPath(operation), {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(input),
  });
  return outputOf<T>(await response.text().catch(unreachable));
}

/** Of a stream, which answers one value per line, the output in its last line. */
function outputOf<T>(text: string): T {
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  const value = last === "" ? {} : JSON.parse(last);
  if (value.error !== undefined && "code" in value.error) {
    throw new ApiError(200, value.error.code, value.error.message);
  }
  return value.output ?? value;
}

/** The events of a stream as they come; ends with it. */
export async function* stream<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const response = await answered(path, { signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") continue;
      const event = JSON.parse(line);
      if (event.error?.code) throw new ApiError(200, event.error.code, event.error.message);
      if (event.output === undefined) yield event as T;
    }
  }
}

/** Until an answer begins: a server that hangs keeps its connections. */
const ANSWER_MS = 60_000;

async function answered(path: string, init: RequestInit): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS);
  const signals = [late.signal, init.signal].filter((one) => one instanceof AbortSignal);
  const response = await fetch(path, { ...init, signal: AbortSignal.any(signals) })
    .catch((cause) => {
      if (late.signal.aborted) throw new ApiError(0, "UNREACHABLE", LATE);
      if (isAbort(cause)) throw cause;
      return unreachable();
    })
    .finally(() => clearTimeout(timer));
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as {
    error?: { code?: string; message?: string };
  } | null;
  const { code = "HTTP", message = `The server answered ${response.status}.` } = body?.error ?? {};
  throw new ApiError(response.status, code, message);
}

const LATE =
  "The server has not answered for a minute. What was asked may still be done: look again.";

function unreachable(): never {
  throw new ApiError(0, "UNREACHABLE", "The server does not answer.");
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
