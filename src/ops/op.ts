import type * as z from "zod/mini";
import type { Store } from "../store/store.ts";

/** What an operation is given besides its input. */
export interface OpContext {
  store: Store;
  now(): number;
}

/** How the run must be opened for it. */
export type Access = "create" | "write" | "read";

/**
 * One thing a user can do, defined once. The command line, and later HTTP and MCP, are renderings
 * of it: flags, help and checks all come from the schemas.
 */
export interface Op<
  I extends z.ZodMiniObject = z.ZodMiniObject,
  O extends z.ZodMiniType = z.ZodMiniType,
> {
  name: string;
  summary: string;
  access: Access;
  input: I;
  output: O;
  run(context: OpContext, input: z.output<I>): Promise<z.output<O>>;
}

export function defineOp<I extends z.ZodMiniObject, O extends z.ZodMiniType>(
  op: Op<I, O>,
): Op<I, O> {
  return op;
}
