import { useEffect } from "preact/hooks";
import type { output } from "zod/mini";
import type { show as showOperation } from "../../../../src/overview/operations.ts";
import type { why as whyOperation } from "../../../../src/overview/why.ts";
import { apiPath } from "../../live/api.ts";
import { connection, type LiveEvent } from "../../live/events.ts";
import { type Resource, useResource } from "../../live/resource.ts";
import type { Neighbours } from "../../live/shapes.ts";
import { agesIn } from "./ages.ts";

export type Shown = output<typeof showOperation.output>;
export type Why = output<typeof whyOperation.output>;

export interface TaskData {
  show: Resource<Shown>;
  why: Resource<Why>;
  neighbours: Resource<Neighbours>;
}

export function useTask(id: string): TaskData {
  const options = {
    refreshOn: ["task", "ledger"],
    match: (event: LiveEvent) => concerns(event, id),
  };
  // Why it waits depends on other tasks, accounts, the gate: on almost anything.
  const why = useResource<Why>(apiPath("why", { id }), {
    refreshOn: ["task", "ledger"],
    match: (event) => event.kind === "task" || !isStep(event),
    every: 2_000,
  });
  useAging(why);
  return {
    why,
    show: useResource<Shown>(apiPath("show", { id }), options),
    neighbours: useResource<Neighbours>(apiPath("neighbours", { id }), {
      refreshOn: ["task"],
      every: 1_000,
    }),
  };
}

/** Its sentences say how long ago something was: while they are seen, they are asked for again. */
function useAging({ data, isLoading, refresh }: Resource<Why>): void {
  useEffect(() => {
    const after = isLoading ? null : agesIn(data?.reasons ?? []);
    if (after === null) return;
    const timer = setInterval(() => {
      if (!document.hidden && connection.value.state !== "lost") refresh();
    }, after);
    return () => clearInterval(timer);
  }, [data, isLoading]);
}

/** Steps come many times a second, and are in the log. */
function isStep(event: LiveEvent): boolean {
  return event.kind === "ledger" && event.data.event === "step";
}

function concerns(event: LiveEvent, id: string): boolean {
  if (event.kind === "task") return event.data.id === id;
  return event.kind === "ledger" && event.data.task === id && !isStep(event);
}
