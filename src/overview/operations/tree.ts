import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import type { Store } from "../../queue/store.ts";

interface Node {
  id: string;
  type: string | null;
  state: z.output<typeof anyState> | null;
  children: Node[];
}

const node: z.ZodMiniType<Node> = z.object({
  id: z.string(),
  type: z.nullable(z.string()),
  state: z.nullable(anyState),
  children: z.array(z.lazy(() => node)),
});

/** Who enqueued whom: the ledger has it for every task that was enqueued with us. */
export const tree = defineRunOperation({
  name: "tree",
  summary: "tasks and the tasks they enqueued",
  access: "read",
  input: z.strictObject({
    id: text("the family of this task (default: all families)"),
    limit: z.optional(
      z.number().check(z.gte(1)).check(z.describe("at most so many tasks (default 500)")),
    ),
  }),
  output: z.object({ families: z.array(node), more: z.number() }),
  async run({ store }, { id, limit = 500 }) {
    const { parentOf, typeOf, childrenOf } = await readFamilies(store);
    const roots =
      id === undefined ? rootsWithChildren(parentOf, childrenOf) : [eldest(id, parentOf)];
    if (id !== undefined && !typeOf.has(id) && (await store.show(id)) === null) {
      throw new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, {
        id,
      });
    }
    let left = limit;
    let more = 0;
    const families: Node[] = [];
    // A stack of its own: a chain of tasks may be longer than the engine's.
    const open: { id: string; siblings: Node[] }[] = roots
      .map((root) => ({ id: root, siblings: families }))
      .reverse();
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (left-- <= 0) {
        more++;
        continue;
      }
      const children: Node[] = [];
      const state = (await store.show(next.id))?.state ?? null;
      next.siblings.push({ id: next.id, type: typeOf.get(next.id) ?? null, state, children });
      for (const child of (childrenOf.get(next.id) ?? []).toReversed()) {
        open.push({ id: child, siblings: children });
      }
    }
    return { families, more };
  },
});

interface Families {
  parentOf: Map<string, string>;
  typeOf: Map<string, string>;
  childrenOf: Map<string, string[]>;
}

async function readFamilies(store: Store): Promise<Families> {
  const parentOf = new Map<string, string>();
  const typeOf = new Map<string, string>();
  const childrenOf = new Map<string, string[]>();
  for await (const line of store.ledger()) {
    if ((line.event !== "enqueued" && line.event !== "adopted") || line.task === undefined)
      continue;
    if (line.type) typeOf.set(line.task, line.type);
    if (!line.parent || parentOf.has(line.task) || line.parent === line.task) continue;
    parentOf.set(line.task, line.parent);
    const siblings = childrenOf.get(line.parent) ?? [];
    siblings.push(line.task);
    childrenOf.set(line.parent, siblings);
  }
  return { parentOf, typeOf, childrenOf };
}

function rootsWithChildren(
  parentOf: ReadonlyMap<string, string>,
  childrenOf: ReadonlyMap<string, string[]>,
): string[] {
  return [...new Set([...childrenOf.keys()].map((id) => eldest(id, parentOf)))];
}

/** A parent is only a word on a task, so there may be a ring: it ends where it began. */
function eldest(id: string, parentOf: ReadonlyMap<string, string>): string {
  const seen = new Set([id]);
  let at = id;
  for (let up = parentOf.get(at); up !== undefined && !seen.has(up); up = parentOf.get(at)) {
    seen.add(up);
    at = up;
  }
  return at;
}
