import { VivError } from "../../base/errors.ts";
import { parseUserJson } from "../../base/user-json.ts";
import type { OpContext } from "../../operation/op.ts";
import { specFromObject, type TaskSpec } from "../spec.ts";
import type { BulkResult, Durability } from "../store.ts";
import { MAX_TASK_BYTES } from "../task.ts";

/**
 * Many tasks from a stream of JSON lines, of any length. Not an Op like the others, because its
 * input is not a value: the command line hands it lines, HTTP will hand it a body.
 */
export async function enqueueStream(
  { store }: OpContext,
  lines: AsyncIterable<string>,
  options: {
    durability?: Durability;
    ifAbsent?: boolean;
    /** For tasks that name none: a handler's children belong to it. */
    parent?: string;
    createdBy?: string;
    onProgress?: (result: BulkResult) => void;
  } = {},
): Promise<BulkResult> {
  const position: Position = { line: 0, tasks: 0, lineOf: new Map() };
  try {
    return await store.enqueueMany(specsFrom(lines, position, options), options);
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
  { parent, createdBy }: { parent?: string; createdBy?: string },
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
