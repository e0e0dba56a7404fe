import type { IncomingMessage, ServerResponse } from "node:http";
import { HttpError } from "./http-errors.ts";

/** The body of a request, as text of at most that many bytes. */
export async function bodyOf(request: IncomingMessage, most: number): Promise<string> {
  const tooLarge = () =>
    new HttpError(
      413,
      `the body is longer than ${most / 2 ** 20} MiB; send JSON lines as application/x-ndjson.`,
    );
  if (Number(request.headers["content-length"] ?? 0) > most) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw tooLarge();
    chunks.push(chunk);
  }
  return utf8(Buffer.concat(chunks));
}

/** Not with other characters in the place of wrong bytes: they would be enqueued. */
function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new HttpError(400, "the body is not UTF-8.");
  }
}

/** Aborted when the client has hung up. */
export function untilGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  if (response.destroyed) gone.abort();
  return gone.signal;
}

/** Resolves when the client has read what was written, or is gone. */
export async function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
