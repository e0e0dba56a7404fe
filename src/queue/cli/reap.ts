import { formatDuration } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import { reap } from "../operations/reap.ts";

interface Output {
  reaped: { worker: string; id: string; age_seconds: number; to: string; reason: string }[];
  live: string[];
  skipped: { worker: string; id: string }[];
  stuck: { worker: string; id: string; pids: number[] }[];
  promoted: number;
  adopted: number;
  recovered: number;
}

export const command: Command = {
  op: reap,
  examples: [
    ["viv reap", "workers that are gone, or silent for five minutes"],
    ["viv reap --stale-after 60", "silent for a minute"],
  ],
  human: (output: Output, { color }) => {
    const lines = output.reaped.map(({ worker, id, age_seconds, to, reason }) => {
      const age =
        age_seconds < 0
          ? "no heartbeat"
          : `last heartbeat ${formatDuration(age_seconds * 1000)} ago`;
      const why =
        { gone: "process gone", stale: age, finished: "had finished it" }[reason] ?? reason;
      return `${id}: claimed → ${color.yellow(to)} ${color.dim(`(${worker}: ${why})`)}`;
    });
    for (const { worker, id } of output.skipped) {
      lines.push(`${id}: left with ${worker}, it is in pending/ too; see: viv doctor`);
    }
    for (const { worker, id, pids } of output.stuck) {
      lines.push(`${id}: left with ${worker}, its processes would not die: ${pids.join(", ")}`);
    }
    const more = [
      count(output.promoted, "promoted"),
      count(output.adopted, "adopted"),
      count(output.recovered, "recovered"),
    ].filter((text) => text !== "");
    if (more.length > 0) lines.push(more.join(", "));
    if (lines.length === 0) lines.push(color.dim(`nothing to reap${alive(output.live)}`));
    return lines.join("\n");
  },
};

function count(n: number, what: string): string {
  return n === 0 ? "" : `${n} ${what}`;
}

function alive(live: readonly string[]): string {
  return live.length === 0 ? "" : ` (at work: ${live.join(", ")})`;
}
