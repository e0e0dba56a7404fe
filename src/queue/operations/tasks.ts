import * as z from "zod/mini";
import { isVivError, VivError } from "../../base/errors.ts";
import { idWord } from "../../base/names.ts";
import type { Config } from "../../base/section.ts";
import { parseUserJson } from "../../base/user-json.ts";
import { askPort } from "../../operation/ask.ts";
import { by, flag, note, text } from "../../operation/fields.ts";
import { definePort, eventsOf } from "../../operation/operation.ts";
import { defineRunOperation, defineRunStream, type RunContext } from "../operation.ts";
import { bulkResult, ended, endedOutput } from "../schemas.ts";
import { specFromObject, type TaskSpec, taskSpec } from "../spec.ts";
import type { TaskWord } from "../states.ts";
import type { BulkResult, Ended, EnqueueOptions, Store } from "../store.ts";
import { MAX_TASK_BYTES } from "../task.ts";
import { linesOf } from "./input-lines.ts";

const durability = z.optional(
  z
    .enum(["safe", "fast"])
    .check(z.describe("safe (default): survives power loss; fast: survives the process only")),
);
const ifAbsent = flag("an existing id is not an error");

/** Why no route of this viv.toml takes tasks of a type; null when one does, or it has no routes. */
export const noRoutePort = definePort<(config: Config, type: string) => string | null>("no route");

/** A worker that runs may take types without a route: it was started with --handler. */
async function unrouted(
  { store, use, here }: RunContext,
  types: Iterable<string>,
): Promise<string[]> {
  const { config } = here;
  if (config === undefined) return [];
  const noRoute = await use(noRoutePort);
  const lonely = [...types].flatMap((type) => {
    const why = noRoute(config, type);
    return why === null ? [] : [{ type, why }];
  });
  if (lonely.length === 0) return [];
  const workers = (await store.workers()).filter((one) => one.process === "alive");
  const isTaken = (type: string) => workers.some((one) => one.types?.includes(type) ?? true);
  return lonely.filter(({ type }) => !isTaken(type)).map(({ why }) => why);
}

export const enqueue = defineRunOperation({
  name: "enqueue",
  summary: "add a task, or a stream of them",
  access: "create",
  input: z.extend(z.omit(taskSpec, { extra: true }), { durability, if_absent: ifAbsent }),
  output: z.object({
    id: z.string(),
    type: z.nullable(z.string()),
    state: z.string(),
    created: z.boolean(),
    /** The run that had to be made; the command line adds it. */
    created_run: z.optional(z.string()),
    warnings: z.optional(z.array(z.string())),
  }),
  async run(context, { durability, if_absent, ...spec }) {
    const { store } = context;
    const { id, ...rest } = await store.enqueue(spec, { durability, ifAbsent: if_absent });
    // The id may be that of another task.
    const type = rest.created ? spec.type : ((await store.show(id))?.type ?? null);
    return {
      id,
      type,
      ...withWarnings(rest, await unrouted(context, type === null ? [] : [type])),
    };
  },
});

/** Its events are the counts so far. */
export const enqueueLines = defineRunStream({
  name: "enqueue lines",
  summary: "add many tasks from JSON lines: one task object per line, in our keys or swarm-lib's",
  access: "create",
  input: z.strictObject({
    durability,
    if_absent: ifAbsent,
    parent: text("parent of tasks that name none"),
    created_by: text("requester of tasks that name none"),
  }),
  event: bulkResult,
  output: bulkResult,
  stream: (context, { durability, if_absent, parent, created_by }) =>
    eventsOf(async (emit) => {
      const { store, input, signal } = context;
      const types = new Set<string>();
      let counts: BulkResult = { enqueued: 0, pending: 0, waiting: 0, existed: 0 };
      const result = await enqueueStream(
        store,
        untilStopped(linesOf(untilClosed(input(), signal)), signal),
        {
          durability,
          ifAbsent: if_absent,
          parent,
          createdBy: created_by,
          onType: (type) => types.add(type),
          onProgress: (progress) => {
            counts = { ...progress };
            emit(counts);
          },
        },
      ).catch((error) => {
        if (!isVivError(error)) throw error;
        throw new VivError(
          error.code,
          error.message,
          { ...error.details, ...counts },
          { cause: error },
        );
      });
      return withWarnings(result, await unrouted(context, types));
    }),
});

function withWarnings<T extends { warnings?: string[] }>(result: T, more: readonly string[]): T {
  return more.length === 0
    ? result
    : { ...result, warnings: [...(result.warnings ?? []), ...more] };
}

/** The store works on groups smaller than this. */
const REMEMBERED = 1000;

/** Many tasks from a stream of JSON lines, of any length. The store counts tasks; people, lines. */
export async function enqueueStream(
  store: Pick<Store, "enqueueMany">,
  lines: AsyncIterable<string>,
  {
    parent,
    createdBy,
    onType,
    ...options
  }: EnqueueOptions & {
    /** For tasks that name none: a handler's children belong to it. */
    parent?: string;
    createdBy?: string;
    onType?: (type: string) => void;
    onProgress?: (result: BulkResult) => void;
  } = {},
): Promise<BulkResult> {
  const lineOf = new Map<number, number>();
  const specs = async function* (): AsyncGenerator<TaskSpec> {
    let line = 0;
    let tasks = 0;
    for await (const text of lines) {
      line++;
      if (text.trim() === "") continue;
      try {
        if (text.length > 2 * MAX_TASK_BYTES) {
          throw new VivError("INVALID", "the line is too long for a task.");
        }
        const spec = specFromObject(parseUserJson(text, "it"));
        if (parent !== undefined) spec.parent ??= parent;
        if (createdBy !== undefined) spec.created_by ??= createdBy;
        lineOf.delete(tasks - REMEMBERED);
        lineOf.set(tasks++, line);
        onType?.(spec.type);
        yield spec;
      } catch (error) {
        if (!(error instanceof VivError)) throw error;
        throw new VivError(error.code, `line ${line}: ${error.message}`, error.details);
      }
    }
  };
  try {
    return await store.enqueueMany(specs(), options);
  } catch (error) {
    if (!(error instanceof VivError) || typeof error.details.index !== "number") throw error;
    const line = lineOf.get(error.details.index);
    const message = error.message.replace(/^task \d+: /, `line ${line}: `);
    throw new VivError(error.code, message, { ...error.details, line }, { cause: error });
  }
}

/** Ctrl-C ends the input with this line: those before it are enqueued, and counted in the output. */
async function* untilStopped(
  lines: AsyncIterable<string>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let count = 0;
  for await (const line of lines) {
    // Signals are heard between turns of the event loop, and `fast` enqueues many lines in one.
    if (++count % 100 === 0) await new Promise(setImmediate);
    if (signal.aborted) return;
    yield line;
  }
}

/** An input that waits for more ends with Ctrl-C too. */
async function* untilClosed(
  bytes: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array | string> {
  const stop = () => (bytes as { destroy?: () => void }).destroy?.();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (!signal.aborted) yield* bytes;
  } catch (error) {
    if (!signal.aborted) throw error; // a destroyed stream throws
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** What cancel, retry, approve and reject have in common: they differ in the transition. */
export const decisionInput = {
  ids: z.array(z.string()).check(z.minLength(1)).check(z.describe("id of the task (or several)")),
  by,
  note,
};
export const decisionOutput = z.object({ tasks: z.array(ended) });

/** One after the other, up to the first that is refused. */
export async function decideEach(
  ids: readonly string[],
  decide: (id: string) => Promise<Ended>,
  to?: TaskWord,
): Promise<z.output<typeof decisionOutput>> {
  const tasks: Ended[] = [];
  for (const id of ids) {
    try {
      tasks.push(await decide(id));
    } catch (error) {
      throw afterOthers(error, tasks);
    }
  }
  return { tasks: tasks.map((one) => ({ ...endedOutput(one), ...(to ? { to } : {}) })) };
}

/** The caller named several ids, and must learn which of them succeeded. */
function afterOthers(error: unknown, done: readonly Ended[]): unknown {
  if (!(error instanceof VivError) || done.length === 0) return error;
  const ids = done.map(({ id }) => id);
  const message = `${error.message} (Before that, it worked for ${ids.join(", ")}.)`;
  return new VivError(error.code, message, { ...error.details, done: ids }, { cause: error });
}

export const cancel = defineRunOperation({
  name: "cancel",
  summary: "stop a task for good",
  access: "write",
  input: z.strictObject(decisionInput),
  output: decisionOutput,
  run: ({ store }, { ids, by, note }) =>
    decideEach(ids, (id) => store.cancel(id, { by: by || undefined, note }), "cancelled"),
});

export const retry = defineRunOperation({
  name: "retry",
  summary: "requeue a failed task",
  access: "write",
  input: z.strictObject({
    ...decisionInput,
    ids: z.optional(decisionInput.ids),
    all: flag("all that apply (failed tasks; not cancelled ones)"),
  }),
  output: decisionOutput,
  async check(_, { ids = [], all }) {
    if (all && ids.length > 0)
      throw new VivError("USAGE", "name the tasks, or say --all, not both.");
    if (!all && ids.length === 0) {
      throw new VivError("USAGE", "viv retry needs a task: viv retry ID, or viv retry --all");
    }
  },
  async run({ store }, { ids = [], all, by, note }) {
    const wanted = all ? await failedIn(store) : ids;
    return decideEach(wanted, (id) => store.retry(id, { by: by || undefined, note }));
  },
});

async function failedIn(store: Store): Promise<string[]> {
  const found: string[] = [];
  const query = { states: ["failed"] as const, cancelled: false, sorted: true };
  for await (const { id } of store.list(query)) found.push(id);
  return found;
}

export const reject = defineRunOperation({
  name: "reject",
  summary: "send a task in review/ back, with a note",
  access: "write",
  input: z.strictObject({
    ...decisionInput,
    note: text("a note for the record (what the next attempt must do better; needed)"),
  }),
  output: decisionOutput,
  async run({ store, use }, { ids, by, note: given = "" }) {
    const question = "what must the next attempt do better? ";
    const note = given.trim() || (await (await use(askPort))(question))?.trim();
    if (!note) throw noNote(ids);
    return decideEach(ids, (id) => store.reject(id, { by: by || undefined, note }));
  },
});

/** Without it, the next attempt would do the same again. */
function noNote(ids: readonly string[]): VivError {
  const words = ids.map(idWord).join(" ");
  const message = `a rejection needs a note for the next attempt: viv reject ${words} --note "what is missing"`;
  return new VivError("USAGE", message);
}
