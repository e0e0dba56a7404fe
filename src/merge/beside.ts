import { localMachine } from "../platform/processes/machine.ts";
import type { Store } from "../queue/store.ts";
import type { WorkerHost } from "../work/host.ts";
import type { Beside, WorkerOptions } from "../work/worker-options.ts";
import type { MergeSettings } from "./config.ts";
import type { Landing } from "./landing.ts";
import { mergeOnce } from "./queue.ts";
import { sendBack } from "./send-back.ts";
import type { MergeContext, MergeEvent } from "./session.ts";
import { isOpen } from "./transitions.ts";

/**
 * The merge queue beside a worker: one pass at its start, then one whenever tasks of the run are
 * done, by notifications of the store. Of several workers one at a time works on a repository.
 */
export function mergeBeside(
  store: Store,
  host: WorkerHost,
  options: Pick<WorkerOptions, "routeFor" | "killAfterMs" | "logBytes" | "onEvent">,
  settings: () => MergeSettings,
  ports: Partial<Pick<MergeContext, "sendBack" | "openPullRequests">> = {},
): Beside {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { routeFor, killAfterMs, logBytes } = options;
  const onError = (error: unknown) => options.onEvent?.({ kind: "trouble", error });
  const context: Omit<MergeContext, "settings"> = {
    ...{ store, host, routeFor, killAfterMs, logBytes, signal, sendBack },
    ...{ machine: localMachine(), now: Date.now, redTips: new Set(), ...ports },
    onEvent: (event) => {
      if (event.kind !== "landing" || note(event.landing)) tell(event, options);
    },
  };
  /** Done since the last pass; "all": look at every task, of which there may be many. */
  let news: Set<string> | "all" | null = null;
  /** Those that are held, or wait for another. */
  const open = new Set<string>();
  let pass: Promise<void> | null = null;
  const told = new Map<string, string>();
  /** Whether it is news. */
  const note = ({ task, state, reason }: Landing): boolean => {
    const text = `${state} ${reason}`;
    const isNews = told.get(task) !== text;
    if (isOpen(state) && state !== "reworked") open.add(task);
    else open.delete(task);
    if (open.has(task)) told.set(task, text);
    else told.delete(task);
    // One that waits for another is told when it goes on.
    return isNews && state !== "queued";
  };
  const passes = async () => {
    while (news !== null && !signal.aborted) {
      const wanted = news === "all" ? null : [...news, ...open];
      news = null;
      try {
        const now = settings();
        if (now.auto) await mergeOnce({ ...context, settings: now }, wanted);
      } catch (error) {
        onError(error);
      }
    }
    pass = null;
  };
  const look = (id?: string) => {
    if (id === undefined || news === "all") news = "all";
    else news = new Set(news ?? []).add(id);
    pass ??= passes();
    return pass;
  };
  const watch = async () => {
    for await (const change of store.watch({ signal })) {
      if (change.kind === "missed") void look();
      else if (change.kind !== "task") continue;
      else if (change.to === "done") void look(change.id);
      // Others may have waited for its rework; null: it was quarantined, or is gone.
      else if ((change.to ?? "failed") === "failed" && open.size > 0) void look(change.id);
    }
  };
  const watching = watch().catch(onError);
  void look();
  return {
    settle: () => look(),
    stop: async () => {
      stopping.abort();
      await watching;
      await pass;
    },
  };
}

function tell(event: MergeEvent, { onEvent }: Pick<WorkerOptions, "onEvent">): void {
  if (event.kind === "trouble") onEvent?.({ kind: "trouble", error: event.error });
  if (event.kind === "notice") onEvent?.({ kind: "trouble", error: new Error(event.message) });
  if (event.kind === "landing") {
    const { task: id, state: landing, target, to: commit, reason: note } = event.landing;
    onEvent?.({ kind: "landing", landing: { id, landing, target, commit, note } });
  }
}
