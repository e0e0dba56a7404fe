import type { Io } from "../../operation/io.ts";
import type { Term } from "../../operation/term.ts";

interface Ended {
  id: string;
  from: string;
  to: string;
  attempt: number;
  retry_at?: string;
}

/** `t.1: claimed → done` */
export function endedLine(ended: Ended, { color }: Term): string {
  const paint =
    ended.to === "done" ? color.green : ended.to === "failed" ? color.red : color.yellow;
  const rest = ended.retry_at ? color.dim(` (until ${ended.retry_at})`) : "";
  return `${ended.id}: ${ended.from} → ${paint(ended.to)}${rest}`;
}

export function endedLines({ tasks }: { tasks: Ended[] }, term: Term): string {
  return tasks.map((task) => endedLine(task, term)).join("\n");
}

/** Inside a handler the environment says who and what. */
export function claimDefaults(io: Pick<Io, "env">) {
  const worker = io.env.VIV_WORKER ?? io.env.SWARM_WORKER_ID;
  return worker ? { worker } : {};
}
