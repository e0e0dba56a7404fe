import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { parseUserJson } from "../../base/user-json.ts";
import { text } from "../../operation/fields.ts";
import { eventsOf } from "../../operation/operation.ts";
import { defineRunStream } from "../operation.ts";
import { specFromObject, type TaskSpec } from "../spec.ts";
import type { BulkResult, Durability, Store } from "../store.ts";
import { MAX_TASK_BYTES } from "../task.ts";
import { durability, ifAbsent } from "./enqueue.ts";

const bulk = z.object({
  enqueued: z.number(),
  pending: z.number(),
  waiting: z.number(),
  existed: z.number(),
  warnings: z.optional(z.array(z.string())),
});

/** Its events are the counts so far. */
export const enqueueLines = defineRunStream({
  name: "enqueue lines",
  summary: "add many tasks from JSON lines: one task object per line, in our keys or swarm-lib's",
  access: "create",
  input: z.strictObject({
    durability,
    if_absent: ifAbsent,
    parent: text("for tasks that name none: the task that asked for it"),
    created_by: text("for tasks that name none: who asked for it"),
  }),
  event: bulk,
  output: bulk,
  stream: ({ store, input, signal }, { durability, if_absent, parent, created_by }) =>
    eventsOf((emit) =>
      enqueueStream(store, lines(untilStopped(input(), signal)), {
        durability,
        ifAbsent: if_absent,
        parent,
        createdBy: created_by,
        onProgress: (result) => emit({ ...result }),
      }),
    ),
});

/** Many tasks from a stream of JSON lines, of any length. */
export async function enqueueStream(
  store: Pick<Store, "enqueueMany">,
  lines: AsyncIterable<string>,
  options: {
    durability?: Durability | undefined;
    ifAbsent?: boolean | undefined;
    /** For tasks that name none: a handler's children belong to it. */
    parent?: string | undefined;
    createdBy?: string | undefined;
    onProgress?: (result: BulkResult) => void;
  } = {},
): Promise<BulkResult> {
  const position: Position = { line: 0, tasks: 0, lineOf: new Map() };
  try {
    const { durability, ifAbsent, onProgress } = options;
    return await store.enqueueMany(specsFrom(lines, position, options), {
      ...(durability === undefined ? {} : { durability }),
      ...(ifAbsent === undefined ? {} : { ifAbsent }),
      ...(onProgress === undefined ? {} : { onProgress }),
    });
  } catch (error) {
    throw withLine(error, position.lineOf);
  }
}

/** Which line each of the last tasks came from; the store works on groups smaller than this. */
interface Position {
  line: number;
  tasks: number;
  lineOf: Map<number, number>;
}
const REMEMBERED = 1000;

async function* specsFrom(
  lines: AsyncIterable<string>,
  position: Position,
  { parent, createdBy }: { parent?: string | undefined; createdBy?: string | undefined },
): AsyncGenerator<TaskSpec> {
  for await (const text of lines) {
    position.line++;
    if (text.trim() === "") continue;
    try {
      if (text.length > 2 * MAX_TASK_BYTES) {
        throw new VivError("INVALID", "the line is too long for a task.");
      }
      const spec = specFromObject(parseUserJson(text, "it"));
      if (parent !== undefined) spec.parent ??= parent;
      if (createdBy !== undefined) spec.created_by ??= createdBy;
      position.lineOf.delete(position.tasks - REMEMBERED);
      position.lineOf.set(position.tasks++, position.line);
      yield spec;
    } catch (error) {
      if (!(error instanceof VivError)) throw error;
      throw new VivError(error.code, `line ${position.line}: ${error.message}`, error.details);
    }
  }
}

/** The store counts tasks; people count lines. */
function withLine(error: unknown, lineOf: ReadonlyMap<number, number>): unknown {
  if (!(error instanceof VivError) || typeof error.details.index !== "number") return error;
  const line = lineOf.get(error.details.index);
  const message = error.message.replace(/^task \d+: /, `line ${line}: `);
  return new VivError(error.code, message, { ...error.details, line }, { cause: error });
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
