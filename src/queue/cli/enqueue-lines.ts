import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import type { Io } from "../../operation/io.ts";
import type { OpContext } from "../../operation/op.ts";
import { Progress } from "../../operation/progress.ts";
import { plain } from "../../operation/term.ts";
import { enqueueStream } from "../operations/enqueue-stream.ts";

/** `viv enqueue --jsonl FILE|-` */
export async function enqueueLines(
  context: OpContext,
  input: Record<string, unknown>,
  io: Io,
  json: boolean,
): Promise<number> {
  const others = Object.keys(input).filter(
    (key) => !["jsonl", "durability", "if_absent", "parent", "created_by"].includes(key),
  );
  if (others.length > 0) {
    const flag = `--${others[0]?.replaceAll("_", "-")}`;
    throw new VivError("USAGE", `${flag} does not go with --jsonl: put it into each line.`);
  }
  const file = String(input.jsonl);
  const bytes = file === "-" ? io.stdin : openFile(resolve(io.cwd, file));
  const progress = new Progress(io, "enqueued");
  try {
    const result = await enqueueStream(context, lines(untilStopped(bytes, io.signal)), {
      ...(input.durability ? { durability: input.durability as "safe" | "fast" } : {}),
      ...(input.if_absent ? { ifAbsent: true } : {}),
      ...(typeof input.parent === "string" ? { parent: input.parent } : {}),
      ...(typeof input.created_by === "string" ? { createdBy: input.created_by } : {}),
      onProgress: (r) => progress.update(r.enqueued),
    });
    progress.end();
    const there = result.existed > 0 ? `, ${result.existed} there already` : "";
    io.stdout.write(
      json
        ? `${JSON.stringify(result)}\n`
        : `enqueued ${result.enqueued} (${result.pending} pending, ${result.waiting} waiting${there})\n`,
    );
    for (const warning of result.warnings ?? []) {
      io.stderr.write(`viv: warning: ${plain(warning)}.\n`);
    }
    if (io.signal.aborted && !json) io.stderr.write("viv: stopped before the end of the input.\n");
    return io.signal.aborted ? 130 : 0;
  } catch (error) {
    progress.end();
    if (progress.count > 0 && !json) {
      const line = isVivError(error) ? error.details.line : undefined;
      const next = typeof line === "number" ? `go on from line ${line}, or, if all have ids: ` : "";
      io.stderr.write(
        `viv: ${progress.count} were enqueued before this; ${next}--if-absent skips them next time.\n`,
      );
    }
    throw error;
  }
}

async function* openFile(path: string): AsyncGenerator<Uint8Array | string> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    throw new VivError(
      "INVALID",
      `cannot read ${path}: ${(error as Error).message}`,
      {},
      { cause: error },
    );
  }
}

/** Ctrl-C ends the input: what came before it is enqueued, and said. */
async function* untilStopped(
  bytes: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | string> {
  const stop = () => (bytes as { destroy?: () => void }).destroy?.();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (!signal.aborted) yield* bytes;
  } catch (error) {
    if (!signal.aborted) throw error; // a stream that was cut off complains of just that
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Lines of a byte stream, without loading it. The last one needs no line break. */
async function* lines(bytes: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", from)) {
      yield rest.slice(from, end);
      from = end + 1;
    }
    rest = rest.slice(from);
    if (rest.length > 64 * 1024 * 1024) {
      throw new VivError("INVALID", "a line of over 64 MiB; each line must be one task.");
    }
  }
  if (rest !== "") yield rest;
}
