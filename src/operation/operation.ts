import type * as z from "zod/mini";
import type { Config } from "../base/section.ts";

/**
 * Something that an operation needs from its surroundings, by name. A room defines the port and its
 * type; app provides it. The kit knows neither.
 */
export interface Port<T> {
  readonly name: string;
  /** Only for the type: no port has a value here. */
  readonly provides?: T;
}

export function definePort<T>(name: string): Port<T> {
  return { name };
}

/** The run that is meant here and what says so, for operations that need one only sometimes. */
export const runPlacePort = definePort<RunPlace>("run place");

export interface RunPlace {
  path: string;
  from: string;
  /** The viv.toml that counts for it. */
  config?: Config;
  onDependencyFailed?: "wait" | "fail";
}

export type Env = Readonly<Record<string, string | undefined>>;

export function definedIn(env: Env): Record<string, string> {
  const isDefined = (one: [string, string | undefined]): one is [string, string] =>
    one[1] !== undefined;
  return Object.fromEntries(Object.entries(env).filter(isDefined));
}

/** Where an operation was asked for: a shell's folder and environment, or a server's. */
export interface Here {
  cwd: string;
  env: Env;
  /** The viv.toml that counts there. */
  config?: Config;
}

export interface Context {
  now(): number;
  here: Here;
  use<T>(port: Port<T>): Promise<T>;
  /** Aborted to stop a stream in order: it finishes what it has begun. */
  signal: AbortSignal;
  /** Aborted to stop it at once: it gives back what it has begun. */
  urgent: AbortSignal;
  /** The bytes that come with the request: standard input, or a body. */
  input(): AsyncIterable<Uint8Array | string>;
}

/** How the run must be opened for an operation on one. */
export type Access = "create" | "write" | "read";

type AnyInput = z.ZodMiniObject;
type AnyOutput = z.ZodMiniType;

interface Described<I extends AnyInput, O extends AnyOutput> {
  name: string;
  summary: string;
  input: I;
  output: O;
  /** None: it needs no run. */
  access?: Access;
  /** The kind of run that it needs, or makes. */
  layout?: string;
  /**
   * Whether it changes something, with this input. Without it: unless its `access` is `read`. An
   * operation that changes nothing opens its run for reading, and HTTP answers it without a token.
   */
  changes?(input: z.output<I>): boolean;
  /** It reads the whole run: a server gives one answer to many requests, for as long as that cost. */
  readsAll?: boolean;
  /** Refuses what can be refused without the run, before that is opened or made. */
  check?(context: Pick<Context, "here" | "use">, input: z.output<I>): Promise<void>;
}

/** One question, one answer. */
export interface Call<I extends AnyInput = AnyInput, O extends AnyOutput = AnyOutput>
  extends Described<I, O> {
  run(context: Context, input: z.output<I>): Promise<z.output<O>>;
}

/** Events as they happen; the output is what is left to say when it has ended. */
export interface Stream<
  I extends AnyInput = AnyInput,
  E extends AnyOutput = AnyOutput,
  O extends AnyOutput = AnyOutput,
> extends Described<I, O> {
  event: E;
  /** True when a second signal has a meaning of its own: see `urgent`. */
  drains?: boolean;
  stream(context: Context, input: z.output<I>): AsyncGenerator<z.output<E>, z.output<O>>;
}

/**
 * One thing a user can do, defined once. The command line, HTTP and MCP are renderings of it: flags,
 * help, checks and schemas all come from here.
 */
export type Operation = Call | Stream;

export function defineOperation<I extends AnyInput, O extends AnyOutput>(
  operation: Call<I, O>,
): Call<I, O> {
  return operation;
}

export function defineStream<I extends AnyInput, E extends AnyOutput, O extends AnyOutput>(
  operation: Stream<I, E, O>,
): Stream<I, E, O> {
  return operation;
}

export function changesSomething(operation: Operation, input: Record<string, unknown>): boolean {
  return operation.changes?.(input) ?? operation.access !== "read";
}

/** How the run must be opened for this input. */
export function accessFor(
  operation: Operation,
  input: Record<string, unknown>,
): Access | undefined {
  if (operation.access === undefined) return undefined;
  return changesSomething(operation, input) ? operation.access : "read";
}

export function isStream(operation: Operation): operation is Stream {
  return "stream" in operation;
}

/** The events of a service that reports them by callback; returns what the service returns. */
export async function* eventsOf<E, O>(
  serve: (emit: (event: E) => void) => Promise<O>,
): AsyncGenerator<E, O> {
  const waiting: E[] = [];
  let wake = () => {};
  let isOver = false;
  const serving = serve((event) => {
    waiting.push(event);
    wake();
  }).finally(() => {
    isOver = true;
    wake();
  });
  serving.catch(() => {}); // it is thrown below, after the events before it
  for (;;) {
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) yield event;
    if (isOver) return await serving;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

/** The output of a stream that says everything in its events. */
export type Nothing = Record<string, never>;

/** An event with the time at which it was emitted. */
export type Stamped<E> = E & { at: string };

export interface Service<O> {
  run(): Promise<O>;
  /** Finishes what it has begun. */
  stop(): unknown;
  /** Gives it back. */
  stopNow?(): unknown;
}

/** A service as a stream of its events: the context's signals stop it. */
export function serve<E extends { kind: string }, O>(
  { now, signal, urgent }: Context,
  start: (emit: (event: E) => void) => Service<O> | Promise<Service<O>>,
): AsyncGenerator<Stamped<E>, O> {
  return eventsOf(async (emit) => {
    const service = await start(({ kind, ...rest }) => {
      emit({ kind, at: new Date(now()).toISOString(), ...rest } as Stamped<E>);
    });
    signal.addEventListener("abort", () => void service.stop());
    urgent.addEventListener("abort", () => void service.stopNow?.());
    if (signal.aborted) void service.stop();
    if (urgent.aborted) void service.stopNow?.();
    return service.run();
  });
}
