import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import type { ErrorAnswer } from "./http-errors.ts";
import { drained } from "./requests.ts";

/**
 * The events of an operation as they happen, then its output or its error:
 *
 * - JSON lines (default): each event as it is, then `{"output": …}` or `{"error": …}`.
 * - server-sent events, where `Accept` asks for them: `event`, then `output` or `error`.
 */
export type StreamForm = "lines" | "sse";

export function formFor(accept: string | undefined): StreamForm {
  return accept?.includes("text/event-stream") ? "sse" : "lines";
}

export const STREAM_TYPES: Record<StreamForm, string> = {
  lines: "application/x-ndjson; charset=utf-8",
  sse: "text/event-stream; charset=utf-8",
};

/**
 * The output alone, for an operation that reads the request's body: an error in the middle of it is told by
 * the status, which a client that looks at nothing else does not take for a success.
 */
export async function outputOf(events: AsyncGenerator<unknown, unknown>): Promise<unknown> {
  for (;;) {
    const { done, value } = await events.next();
    if (done) return value ?? {};
  }
}

/** A reader that is slower than its events makes the operation wait. */
export async function sendStream(
  response: ServerResponse,
  form: StreamForm,
  headers: Record<string, string>,
  events: AsyncGenerator<unknown, unknown>,
  errorOf: (error: unknown) => ErrorAnswer,
): Promise<void> {
  const begin = () => {
    if (!response.headersSent) {
      response.writeHead(200, { ...headers, "content-type": STREAM_TYPES[form] });
      response.flushHeaders();
    }
  };
  const send = (kind: "event" | "output" | "error", value: unknown) => {
    begin();
    const data = JSON.stringify(value);
    if (form === "sse") return void response.write(`event: ${kind}\ndata: ${data}\n\n`);
    const line = kind === "event" ? data : JSON.stringify({ [kind]: value });
    response.write(`${line}\n`);
  };
  try {
    // Mistakes that are found at once have their own status.
    let next = await events.next();
    begin();
    for (let count = 1; !next.done; count++) {
      send("event", next.value);
      await drained(response);
      if (response.destroyed) return;
      if (count % 100 === 0) await turn(); // others are answered meanwhile
      next = await events.next();
    }
    send("output", next.value ?? {});
  } catch (error) {
    if (!response.headersSent) throw error;
    send("error", errorOf(error).body.error);
  } finally {
    await events.return?.(undefined).catch(() => {}); // the client is gone; what it began is undone there
    if (response.headersSent) response.end();
  }
}
