import { formatTook } from "../../base/duration.ts";
import type { Command } from "../../operation/command.ts";
import type { Stamped } from "../../operation/operation.ts";
import { plain, type Term } from "../../operation/term.ts";
import { type WorkEvent, type WorkInput, work } from "../operations/work.ts";
import { WorkProgress } from "./progress.ts";

export const command: Command = {
  op: work,
  runFrom: (input, run) => run ?? (input.run_dir as string | undefined),
  flags: {
    "until-stdin-closes": {
      kind: "boolean",
      describe: "stop as with SIGTERM when whoever started it is gone",
      hidden: true,
    },
  },
  durabilityFor: (input) => input.durability as WorkInput["durability"],
  examples: [
    ["viv work --handler ./handle.sh", "one worker, this executable for every task"],
    ["viv work --concurrency 4 --types audit,synth", "routes from viv.toml"],
    ["viv work --handler ./handle.sh --drain", "until nothing is left to do"],
    ["viv work --once --timeout 30m", "one task, at most half an hour"],
  ],
  view: (term, io, context, { drain }) => {
    const progress = drain ? new WorkProgress(io, context) : null;
    return {
      event: (event: Stamped<WorkEvent>) => {
        progress?.clear();
        if (event.kind === "finished") return summary(event, term);
        progress?.update();
        return describe(event, term);
      },
      close: () => progress?.clear(),
    };
  },
};

function summary(report: { attempts: number; done: number; other: number }, term: Term): string {
  const { attempts, done, other } = report;
  if (attempts === 0) return term.color.dim("nothing was claimed");
  const rest = other === 0 ? "" : `, ${other} attempt${other === 1 ? "" : "s"} ended otherwise`;
  return `${term.color.green(`${done} done`)}${rest}`;
}

function describe(event: Stamped<WorkEvent>, { color }: Term): string | null {
  const time = color.dim(event.at.slice(11, 19));
  switch (event.kind) {
    case "started": {
      const what = event.types === null ? "any type" : event.types.join(", ");
      return `${time} ${event.worker} waits for work (${what})`;
    }
    case "claimed": {
      const { id, type, attempt, snake } = event;
      const by = snake === undefined ? "" : ` with ${plain(snake)}`;
      const again = attempt > 1 ? color.yellow(` attempt ${attempt}`) : "";
      return `${time} ${id} ${color.dim(`(${plain(type)})`)} begins${by}${again}`;
    }
    case "ended":
      return `${time} ${ending(event, color)}`;
    case "held":
      if (event.reasons.length === 0) return `${time} everything may be claimed again`;
      return event.reasons.map((why) => `${time} ${color.yellow(plain(why))}`).join("\n");
    case "proven":
      return `${time} ${proven(event, color)}`;
    case "stopping":
      return event.running === 0
        ? `${time} stopping`
        : `${time} stopping when ${event.running} running ${event.running === 1 ? "task has" : "tasks have"} ended; once more to release now`;
    case "trouble": {
      const where = event.id === undefined ? "" : `${event.id}: `;
      return `${time} ${color.red(where + plain(event.message))}`;
    }
    case "finished":
      return null; // its summary is shown
  }
}

type Of<K extends WorkEvent["kind"]> = Extract<WorkEvent, { kind: K }>;

function proven(
  { id, snake, outcome, note, unproven }: Of<"proven">,
  color: Term["color"],
): string {
  const whose = snake ? ` by ${plain(snake)}` : "";
  if (outcome === "done") return `${id} ${color.green("done by hand")}${whose}, proven`;
  const why = note ? `: ${plain(note)}` : "";
  const now = unproven ? ` (its result is done/${unproven} now)` : "";
  return `${id} ${color.yellow("unproven")}${whose}${why}${color.dim(now)}`;
}

function ending(event: Of<"ended">, color: Term["color"]): string {
  const { id, outcome, to, retry_at, duration_ms } = event;
  if (outcome === "lost") return `${id} ${color.yellow("was taken away; its result is dropped")}`;
  const took = color.dim(`after ${formatTook(duration_ms)}`);
  const note = event.note ? `: ${plain(event.note)}` : "";
  if (outcome === "done") {
    return `${id} ${color.green(to === "review" ? "waits for review" : "done")} ${took}`;
  }
  const next = retry_at ? `, again at ${retry_at.slice(11, 19)}` : to === "failed" ? "" : `, ${to}`;
  const paint = outcome === "released" || to !== "failed" ? color.yellow : color.red;
  return `${id} ${paint(outcome)} ${took}${note}${color.dim(next)}`;
}
