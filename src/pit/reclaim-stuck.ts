import { isName } from "../base/names.ts";
import type { Store } from "../queue/store.ts";
import type { WorkerHost } from "../work/host.ts";
import { type Progress, pitOf } from "./pit-store.ts";

/**
 * Takes food back from a snake that is alive and beats, but whose handler has used no CPU and written
 * nothing for `limitMs`. One pass; progress is kept on disk between passes. (A busy loop is ended by
 * its route's time limit.)
 */
export async function reclaimStuck(
  store: Store,
  host: Pick<WorkerHost, "ticksOf" | "sizeOf" | "artifacts">,
  { now, limitMs }: { now: number; limitMs: number },
): Promise<{ id: string; worker: string; to: string }[]> {
  const pit = pitOf(store);
  if (pit === null) return [];
  const before = await pit.readProgress();
  const after: Record<string, Progress> = {};
  const reclaimed: { id: string; worker: string; to: string }[] = [];
  for await (const { id } of store.list({ states: ["claimed"] })) {
    const view = isName(id) ? await store.show(id) : null;
    if (view?.state !== "claimed" || view.process?.vitality !== "alive" || !view.token) continue;
    const { token, worker = "?", process } = view;
    const ticks = host.ticksOf(process.pid, store.claimMark({ id, token }));
    const bytes = host.sizeOf(host.artifacts.logOf(id));
    const progress = afterLook(before[id], { token, ticks, bytes }, now);
    if (now - progress.since < limitMs) {
      after[id] = progress;
      continue;
    }
    const seconds = Math.round((now - progress.since) / 1000);
    const note = `${worker} is alive, but has used no CPU and written nothing for ${seconds} s`;
    const to = await pit.reclaim(id, token, note);
    if (to !== null) reclaimed.push({ id, worker, to });
  }
  await pit.writeProgress(after);
  return reclaimed;
}

/** The progress after this look. A clock that was set back restarts the wait. */
export function afterLook(
  before: Progress | undefined,
  seen: Omit<Progress, "since">,
  now: number,
): Progress {
  const isSame =
    before !== undefined &&
    before.token === seen.token &&
    before.ticks === seen.ticks &&
    before.bytes === seen.bytes &&
    before.since <= now;
  return { ...seen, since: isSame ? before.since : now };
}
