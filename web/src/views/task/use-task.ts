import type { output } from "zod/mini";
import type { show as showOperation } from "../../../../src/overview/operations.ts";
import type { why as whyOperation } from "../../../../src/overview/why.ts";
import { apiPath } from "../../live/api.ts";
import type { LiveEvent } from "../../live/events.ts";
import { type Resource, useResource } from "../../live/resource.ts";
import type { Neighbours } from "../../live/shapes.ts";

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
  return {
    show: useResource<Shown>(apiPath("show", { id }), options),
    // Why it waits depends on other tasks, accounts, the gate: on almost anything.
    why: useResource<Why>(apiPath("why", { id }), {
      refreshOn: ["task", "ledger"],
      match: (event) => event.kind === "task" || !isStep(event),
      every: 2_000,
    }),
    neighbours: useResource<Neighbours>(apiPath("neighbours", { id }), {
      refreshOn: ["task"],
      every: 1_000,
    }),
  };
}

/** Steps come many times a second, and are in the log. */
function isStep(event: LiveEvent): boolean {
  return event.kind === "ledger" && event.data.event === "step";
}

function concerns(event: LiveEvent, id: string): boolean {
  if (event.kind === "task") return event.data.id === id;
  return event.kind === "ledger" && event.data.task === id && !isStep(event);
}
