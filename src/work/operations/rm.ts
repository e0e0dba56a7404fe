import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { formatSize } from "../../base/size.ts";
import { counted } from "../../base/text.ts";
import { askPort } from "../../operation/ask.ts";
import { by, flag } from "../../operation/fields.ts";
import { type Context, defineOperation } from "../../operation/operation.ts";
import type { Store } from "../../queue/store.ts";
import type { WorkerHost } from "../host.ts";
import { withQuietQueues } from "../runs/merge-scratch.ts";
import { assertNoWorkers, removeWorktrees, withQuietRun, worktreesOf } from "../runs/quiet-run.ts";
import { assertOnlyRun, assertRun, finishRemoval, removeRun } from "../runs/remove-run.ts";
import { assertNoLink, type RunPlace } from "../runs/run-place.ts";
import { placeFor, type RunsPort, runsPort } from "./runs.ts";

const removed = z.object({
  run_dir: z.string(),
  removed: z.boolean(),
  tasks: z.number(),
  bytes: z.number(),
  /** Branches with commits of their own: they stay in their repositories. */
  branches: z.array(z.string()),
});

export const rm = defineOperation({
  name: "rm",
  summary: "remove a run with all its tasks and artifacts",
  input: z.strictObject({
    dir: z.string().check(z.describe("path of the run")),
    yes: flag("do not ask"),
    by,
  }),
  output: removed,
  async run(context, { dir, yes = false, by }) {
    const port = await context.use(runsPort);
    const place = await placeFor(context, dir);
    assertNoLink(place);
    return port.exclusively(() => removeOne(context, port, place, { yes, by }));
  },
});

async function removeOne(
  context: Context,
  port: RunsPort,
  place: RunPlace,
  { yes, by }: { yes: boolean; by?: string },
): Promise<z.output<typeof removed>> {
  const { path } = place;
  const none = { run_dir: path, tasks: 0, bytes: 0, branches: [] };
  if (finishRemoval(place)) {
    port.registry.forget(path);
    return { ...none, removed: true };
  }
  assertRun(path);
  return withQuietQueues(path, "remove", async (leave) => {
    const store = await port.open(path, { readOnly: false });
    let branches: string[] = [];
    let bytes = 0;
    let tasks = 0;
    try {
      assertOnlyRun(path);
      const host = await port.host(store);
      const all = await store.counts();
      tasks = Object.values(all).reduce((sum, n) => sum + n, 0) - all.cancelled;
      bytes = await port.bytesIn(path);
      await assertNoWorkers(store, "remove");
      if (!yes && !(await isConfirmed(context, store, host, { tasks, bytes }))) {
        return { ...none, removed: false, tasks, bytes };
      }
      branches = await withQuietRun(store, "remove", by, () => removeWorktrees(host, "remove"));
      await leave();
    } finally {
      await store.close();
    }
    removeRun(place);
    port.registry.forget(path);
    return { run_dir: path, removed: true, tasks, bytes, branches };
  });
}

/** Names what is lost, and what stays. */
async function isConfirmed(
  { use }: Context,
  store: Store,
  host: WorkerHost,
  { tasks, bytes }: { tasks: number; bytes: number },
): Promise<boolean> {
  const worktrees = worktreesOf(await host.listWorkspaces());
  const dirty = worktrees.filter(({ dirty: isDirty }) => isDirty).map(({ id }) => id);
  const ahead = worktrees.filter((one) => one.ahead > 0).map(({ branch }) => branch);
  const lines = [
    `${store.location}: ${counted(tasks, "task")}, ${formatSize(bytes)}`,
    ...(dirty.length > 0 ? [`uncommitted changes are lost: ${dirty.join(", ")}`] : []),
    ...(ahead.length > 0 ? [`branches with commits of their own stay: ${ahead.join(", ")}`] : []),
  ];
  const answer = await (await use(askPort))(`${lines.join("\n")}\nremove it for good? [y/N] `);
  if (answer !== null) return /^y(es)?$/i.test(answer.trim());
  const message = `${lines.join("; ")}. There is no terminal to ask on; to remove it, add --yes.`;
  throw new VivError("USAGE", message);
}
