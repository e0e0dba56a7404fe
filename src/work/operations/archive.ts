import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { counted } from "../../base/text.ts";
import { by, flag, text } from "../../operation/fields.ts";
import { type Context, defineOperation } from "../../operation/operation.ts";
import { isThere } from "../../platform/files/remove-tree.ts";
import type { Counts, Store } from "../../queue/store.ts";
import { packRun, settle, unpackRun } from "../runs/archive-run.ts";
import { withQuietQueues } from "../runs/merge-scratch.ts";
import { removeWorktrees, withQuietRun } from "../runs/quiet-run.ts";
import { assertRun } from "../runs/remove-run.ts";
import { assertNoLink, assertNoMounts, type RunPlace } from "../runs/run-place.ts";
import { isFinished } from "../runs/run-state.ts";
import { placeFor, type RunsPort, runsPort } from "./runs.ts";

const archived = z.object({
  run_dir: z.string(),
  archive: z.string(),
  restored: z.boolean(),
  /** Branches with commits of their own: they stay in their repositories. */
  branches: z.array(z.string()),
});

export const archive = defineOperation({
  name: "archive",
  summary: "pack a finished or paused run into NAME.tar.gz, or restore it",
  input: z.strictObject({
    dir: text("path of the run (default: the run of this folder)"),
    restore: flag("unpack it again; it stays paused"),
    by,
  }),
  output: archived,
  async run(context, { dir, restore = false, by }) {
    const port = await context.use(runsPort);
    const place = await placeFor(context, dir?.replace(/\.tar\.gz$/, ""));
    assertNoLink(place);
    return port.exclusively(() => archiveOne(context, port, place, { restore, by }));
  },
});

async function archiveOne(
  { now }: Context,
  port: RunsPort,
  place: RunPlace,
  { restore, by }: { restore: boolean; by?: string },
): Promise<z.output<typeof archived>> {
  const { path, tar } = place;
  const settled = await settle(place);
  const answer = { run_dir: path, archive: tar, restored: restore, branches: [] };
  if (restore) {
    if (settled === "undone") return answer;
    await unpackRun(place, async (unpacked) => {
      await (await port.open(unpacked, { readOnly: true })).close();
    });
    port.registry.note(path, now());
    return answer;
  }
  if (settled === "archived") return answer;
  assertRun(path);
  return withQuietQueues(path, "archive", async (leave) => {
    const store = await port.open(path, { readOnly: false });
    let branches: string[] = [];
    let wasPaused = true;
    try {
      wasPaused = (await store.paused()) !== null;
      const all = await store.counts();
      if (!isFinished(all) && !wasPaused) throw stillOpen(store, all);
      if (isThere(tar)) throw new VivError("WRONG_STATE", `${tar} is there already; move it away.`);
      assertNoMounts(path);
      const host = await port.host(store);
      branches = await withQuietRun(store, "archive", by, () => removeWorktrees(host, "archive"));
      await leave();
    } finally {
      await store.close();
    }
    try {
      await packRun(place);
    } catch (error) {
      if (!wasPaused && isThere(path)) await resumeAt(port, path, by);
      throw error;
    }
    return { ...answer, branches };
  });
}

/** It was not archived: a pause of ours ends. */
async function resumeAt(port: RunsPort, path: string, by: string | undefined): Promise<void> {
  const store = await port.open(path, { readOnly: false });
  try {
    await store.resume({ by });
  } finally {
    await store.close();
  }
}

function stillOpen(store: Store, { pending, waiting, review, claimed }: Counts): VivError {
  const open = pending + waiting + review + claimed;
  const message = `${store.location} is not finished: ${counted(open, "task")} ${open === 1 ? "is" : "are"} open; wait, or pause it first with: viv pause --run ${store.location}`;
  return new VivError("WRONG_STATE", message);
}
