import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { isVivError, messageOf } from "../../base/errors.ts";
import { flag } from "../../operation/fields.ts";
import {
  type Context,
  defineOperation,
  definePort,
  runPlacePort,
} from "../../operation/operation.ts";
import { isThere } from "../../platform/files/remove-tree.ts";
import type { RunRegistry } from "../../platform/files/run-registry.ts";
import { counts, countsInWords, pause } from "../../queue/schemas.ts";
import type { Store } from "../../queue/store.ts";
import type { WorkerHost } from "../host.ts";
import { liveWorkers } from "../runs/quiet-run.ts";
import { placeOf, type RunPlace } from "../runs/run-place.ts";
import { RUN_STATES, type RunState, runState } from "../runs/run-state.ts";

/** Runs as wholes, of which none is the run of the command. */
export interface RunsPort {
  open(path: string, options: { readOnly: boolean }): Promise<Store>;
  host(store: Store): Promise<WorkerHost>;
  registry: RunRegistry;
  /** One archiving, restoring or removal at a time, over all processes of this user. */
  exclusively<T>(act: () => Promise<T>): Promise<T>;
  bytesIn(path: string): Promise<number>;
  /** The address of the server that answers for a run now. */
  addressOf(path: string): string | null;
}

export const runsPort = definePort<RunsPort>("runs");

const runInfo = z.object({
  path: z.string(),
  state: z.enum(RUN_STATES),
  run_id: z.optional(z.string()),
  counts: z.optional(counts),
  workers: z.optional(z.number()),
  paused: z.optional(pause),
  /** Of its page, while `viv serve` or `viv up` runs. */
  address: z.optional(z.string()),
  /** Of its tasks or its ledger. */
  last_change: z.nullable(z.string()),
  /** What helps, or why it cannot be read. */
  note: z.optional(z.string()),
});
export type RunInfo = z.output<typeof runInfo>;

export const runs = defineOperation({
  name: "runs",
  summary: "all runs that your commands have opened",
  input: z.strictObject({ prune: flag("forget runs that are gone") }),
  changes: ({ prune }) => prune === true,
  output: z.object({ runs: z.array(runInfo), pruned: z.optional(z.array(z.string())) }),
  async run({ use }, { prune }) {
    const port = await use(runsPort);
    const found: RunInfo[] = [];
    for (const { path } of port.registry.list()) found.push(await inspect(port, path));
    found.sort((a, b) => ((a.last_change ?? "") < (b.last_change ?? "") ? 1 : -1));
    if (!prune) return { runs: found };
    const pruned = found.filter(({ state }) => state === "gone").map(({ path }) => path);
    for (const path of pruned) port.registry.forget(path);
    return { runs: found.filter(({ state }) => state !== "gone"), pruned };
  },
});

async function inspect(port: RunsPort, path: string): Promise<RunInfo> {
  const away = awayState(placeOf(path));
  if (away !== null) return { path, last_change: null, ...away };
  let store: Store;
  try {
    store = await port.open(path, { readOnly: true });
  } catch (error) {
    const isGone = isVivError(error, "RUN_NOT_FOUND");
    const note = messageOf(error);
    return { path, state: isGone ? "gone" : "unreadable", last_change: null, note };
  }
  try {
    const all = await store.counts();
    const workers = liveWorkers(await store.workers()).length;
    const paused = await store.paused();
    const state = runState(all, workers, paused);
    const address = port.addressOf(path);
    return {
      ...{ path, state, run_id: store.runId, counts: countsInWords(all), workers },
      ...(paused ? { paused } : {}),
      ...(address === null ? {} : { address }),
      last_change: lastChange(path),
    };
  } finally {
    await store.close();
  }
}

/** Null when the run is where it should be. */
function awayState(place: RunPlace): { state: RunState; note?: string } | null {
  const { path, archiving, removing, tar } = place;
  if (isThere(path)) return null;
  if (isThere(archiving)) return { state: "interrupted", note: `go on with: viv archive ${path}` };
  if (isThere(removing)) return { state: "interrupted", note: `go on with: viv rm ${path}` };
  if (isThere(tar)) return { state: "archived", note: `viv archive --restore ${path}` };
  return { state: "gone" };
}

const CHANGING = [
  ...["waiting", "pending", "claimed", "review", "done", "failed", "ledger"],
  ...["food", "resting/later", "resting/review", "resting/stuck", "record/ledger"],
];

/** By the times of folders, which every move changes, and of the ledger's last file. */
function lastChange(path: string): string | null {
  let last = 0;
  const look = (one: string) => {
    last = Math.max(last, statSync(one, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  };
  for (const folder of CHANGING) {
    const full = join(path, folder);
    look(full);
    if (!folder.endsWith("ledger") || !isThere(full)) continue;
    const [newest] = readdirSync(full).sort().reverse();
    if (newest !== undefined) look(join(full, newest));
  }
  return last === 0 ? null : new Date(last).toISOString();
}

/** The run that is meant: named, or that of this folder. */
export async function placeFor({ use, here }: Context, dir: string | undefined): Promise<RunPlace> {
  return placeOf(dir === undefined ? (await use(runPlacePort)).path : resolve(here.cwd, dir));
}
