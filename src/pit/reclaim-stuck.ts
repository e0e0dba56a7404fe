import { isName } from "../base/names.ts";
import type { Store } from "../queue/store.ts";
import type { WorkerHost } from "../work/host.ts";
import type { Progress } from "./progress.ts";
import { afterLook, isStuck } from "./progress-policy.ts";
import { pitOf } from "./store.ts";

/**
 * Takes food back from a snake that is alive and beats, but whose handler has used no CPU and written
 * nothing for as long as the time-out. One pass; progress is kept on disk between passes.
 */
export interface ReclaimOptions {
  now: number;
  limitMs: number;
}

export async function reclaimStuck(
  store: Store,
  host: Pick<WorkerHost, "ticksOf" | "sizeOf" | "artifacts">,
  { now, limitMs }: ReclaimOptions,
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
    const claim = store.claimMark({ id, token });
    const ticks = host.ticksOf(process.pid, claim);
    const bytes = host.sizeOf(host.artifacts.logOf(id));
    const progress = afterLook(before[id], { token, ticks, bytes, at: now });
    if (!isStuck(progress, now, limitMs)) {
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
