import type * as z from "zod/mini";
import {
  type Access,
  type Call,
  type Context,
  definePort,
  type Stream,
} from "../operation/operation.ts";
import type { Store, TaskView } from "./store.ts";
import { noSuchTask } from "./task.ts";

/** The run of an operation, opened with its `access`. */
export const storePort = definePort<Store>("store");

export interface RunContext extends Context {
  store: Store;
}

type OnRun<T> = Omit<T, "run" | "stream" | "access"> & { access: Access };

/** An operation on a run. */
export function defineRunOperation<I extends z.ZodMiniObject, O extends z.ZodMiniType>({
  run,
  ...rest
}: OnRun<Call<I, O>> & {
  run(context: RunContext, input: z.output<I>): Promise<z.output<O>>;
}): Call<I, O> {
  return { ...rest, run: async (context, input) => run(await onRun(context), input) };
}

export function defineRunStream<
  I extends z.ZodMiniObject,
  E extends z.ZodMiniType,
  O extends z.ZodMiniType,
>({
  stream,
  ...rest
}: OnRun<Stream<I, E, O>> & {
  stream(context: RunContext, input: z.output<I>): AsyncGenerator<z.output<E>, z.output<O>>;
}): Stream<I, E, O> {
  return {
    ...rest,
    stream: async function* (context, input) {
      return yield* stream(await onRun(context), input);
    },
  };
}

async function onRun(context: Context): Promise<RunContext> {
  return { ...context, store: await context.use(storePort) };
}

/** Throws TASK_NOT_FOUND. */
export async function mustShow(store: Pick<Store, "show">, id: string): Promise<TaskView> {
  const view = await store.show(id);
  if (view === null) throw noSuchTask(id);
  return view;
}
