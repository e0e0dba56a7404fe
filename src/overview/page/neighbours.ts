import * as z from "zod/mini";
import { compareIds } from "../../base/compare-ids.ts";
import { count, text } from "../../operation/fields.ts";
import { Slices } from "../../platform/slices.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { noSuchTask } from "../../queue/task.ts";
import { taskId } from "../operations.ts";
import type { Entry } from "./entry.ts";
import { parseFilter } from "./filter.ts";
import { runIndexPort } from "./index-port.ts";
import type { RunIndex } from "./run-index.ts";
import { landing, node, nodeOf } from "./shapes.ts";

const MOST_NEIGHBOURS = 50;

export const neighbours = defineRunOperation({
  name: "neighbours",
  summary: "the tasks that a task needs, that need it, its parent and its children",
  access: "read",
  input: z.strictObject({ id: taskId }),
  output: z.object({
    needs: z.array(node),
    needed_by: z.array(node),
    parent: z.nullable(node),
    children: z.array(node),
    /** How many of each are left out. */
    more: z.object({ needs: z.number(), needed_by: z.number(), children: z.number() }),
  }),
  async run({ use }, { id }) {
    const index = await use(runIndexPort);
    await index.settled();
    const entry = index.table.find(id);
    if (entry === undefined) throw noSuchTask(id);
    await index.readNow([entry]);
    const groups = {
      needs: entry.needs ?? [],
      needed_by: entry.neededBy ?? [],
      children: entry.children ?? [],
    };
    const shown = (all: readonly Entry[]) => all.slice(0, MOST_NEIGHBOURS);
    await index.readNow(present([...Object.values(groups).flatMap(shown), entry.parent]));
    const left = (all: readonly Entry[]) => Math.max(0, all.length - MOST_NEIGHBOURS);
    return {
      needs: shown(groups.needs).map(nodeOf),
      needed_by: shown(groups.needed_by).map(nodeOf),
      parent: entry.parent && nodeOf(entry.parent),
      children: shown(groups.children).map(nodeOf),
      more: {
        needs: left(groups.needs),
        needed_by: left(groups.needed_by),
        children: left(groups.children),
      },
    };
  },
});

function present(entries: readonly (Entry | null)[]): Entry[] {
  return entries.filter((one): one is Entry => one !== null && one.column !== null);
}

const DEFAULT_NODES = 500;
const MOST_NODES = 2000;

export const graph = defineRunOperation({
  name: "graph",
  summary: "tasks and their dependencies, as nodes and edges",
  access: "read",
  input: z.strictObject({
    filter: text("words that all must match: type:fix worker:ada is:choked …"),
    around: text("id of a task (only tasks that it leads to or comes from, the nearest first)"),
    limit: count(`at most this many nodes (default: ${DEFAULT_NODES})`),
  }),
  output: z.object({
    nodes: z.array(z.extend(node, { landing })),
    /** From a dependency to the task that needs it. */
    edges: z.array(z.tuple([z.string(), z.string()])),
    /** Tasks with dependencies that were left out. */
    more: z.number(),
  }),
  async run({ use }, { filter = "", around, limit = DEFAULT_NODES }) {
    const index = await use(runIndexPort);
    await index.settled();
    if (around !== undefined && !index.table.find(around)) throw noSuchTask(around);
    await index.complete(); // a dependency is known when the file that names it was read
    const matches = parseFilter(filter) ?? (() => true);
    const most = Math.min(limit, MOST_NODES);
    const { chosen, more } = await chooseNodes(seedsOf(index, around), matches, most);
    const nodes = [...chosen];
    return {
      nodes: nodes.map((entry) => ({ ...nodeOf(entry), landing: entry.landing })),
      edges: nodes.flatMap((entry) =>
        (entry.needs ?? []).flatMap((need): [string, string][] =>
          chosen.has(need) ? [[need.id, entry.id]] : [],
        ),
      ),
      more,
    };
  },
});

/** What a person looks at first: what is at work, what failed, what waits; each with its kin. */
const BY_INTEREST = ["working", "failed", "review", "ready", "waiting", "done"] as const;

function seedsOf({ table: { entries, views } }: RunIndex, around: string | undefined): Entry[] {
  const one = around === undefined ? undefined : entries.get(around);
  return one ? [one] : BY_INTEREST.flatMap((column) => [...views.all.columns[column]]);
}

/** Whole families one after the other, breadth first, as far as they fit. Tasks on their own are left out. */
async function chooseNodes(
  seeds: readonly Entry[],
  matches: (entry: Entry) => boolean,
  limit: number,
): Promise<{ chosen: Set<Entry>; more: number }> {
  const slices = new Slices();
  const chosen = new Set<Entry>();
  const seen = new Set<Entry>();
  const isOne = seeds.length === 1;
  for (const seed of seeds) {
    const isAlone = seed.needs === null && (seed.neededBy?.length ?? 0) === 0;
    if ((isAlone && !isOne) || seen.has(seed) || !matches(seed)) continue;
    seen.add(seed);
    const queue = [seed];
    for (let i = 0; i < queue.length; i++) {
      const entry = queue[i] as Entry;
      if (chosen.size < limit) chosen.add(entry);
      await slices.rest();
      for (const kin of kinOf(entry)) {
        if (seen.has(kin) || !matches(kin)) continue;
        seen.add(kin);
        queue.push(kin);
      }
    }
  }
  return { chosen, more: seen.size - chosen.size };
}

function kinOf({ needs, neededBy }: Entry): Entry[] {
  const kin = [...(needs ?? []), ...(neededBy ?? [])];
  return kin.sort((a, b) => compareIds(a.id, b.id));
}
