import { formatTook } from "../../base/duration.ts";
import { isVivError, VivError } from "../../base/errors.ts";
import { complaint } from "../../base/issue.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, termFor } from "../../operation/term.ts";
import type { WorkerEvent } from "../../queue/operations/store-types.ts";
import { assertRoutes, type WorkInput, work, workerFor } from "../operations/work.ts";
import { WORK_SITE } from "../site.ts";
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
  stream: async (context, { "until-stdin-closes": untilClosed, ...given }, io, json, config) => {
    const parsed = work.input.safeParse(given);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const flag = `--${String(issue?.path[0] ?? "").replaceAll("_", "-")}`;
      throw new VivError("USAGE", `${flag} ${issue ? complaint(issue) : "is not valid"}.`);
    }
    const input: WorkInput = parsed.data;
    const term = termFor(io, io.stdout);
    const progress = input.drain && !json ? new WorkProgress(io, context.store) : null;
    const host = await context.host();
    await assertRoutes(input, config, host);
    const worker = workerFor(context, input, config, host, (event) => {
      progress?.clear();
      const line = json
        ? JSON.stringify(asJson(event))
        : describe(event, term, context.store.extension(WORK_SITE) !== null);
      if (line !== null) io.stdout.write(`${line}\n`);
      progress?.update();
    });
    io.hearUrgent();
    io.signal.addEventListener("abort", () => worker.stop());
    io.urgent.addEventListener("abort", () => worker.stopNow());
    if (io.signal.aborted) worker.stop();
    if (untilClosed) io.onStdinClosed(() => worker.stop());
    try {
      const report = await worker.run();
      progress?.clear();
      if (json)
        io.stdout.write(
          `${JSON.stringify({ kind: "finished", at: new Date().toISOString(), ...report })}\n`,
        );
      else io.stdout.write(`${summary(report, term)}\n`);
      return 0;
    } finally {
      progress?.clear();
    }
  },
};

function summary(report: { attempts: number; done: number; other: number }, term: Term): string {
  const { attempts, done, other } = report;
  if (attempts === 0) return term.color.dim("nothing was claimed");
  const rest = other === 0 ? "" : `, ${other} attempt${other === 1 ? "" : "s"} ended otherwise`;
  return `${term.color.green(`${done} done`)}${rest}`;
}

function describe(event: WorkerEvent, { color }: Term, isPit: boolean): string | null {
  const time = color.dim(new Date().toISOString().slice(11, 19));
  switch (event.kind) {
    case "started": {
      const what = event.types === null ? "any type" : event.types.join(", ");
      return `${time} ${event.worker} waits for work (${what})`;
    }
    case "claimed": {
      const { task, attempt, worker } = event.claim;
      const who = isPit ? ` with ${plain(worker)}` : "";
      const again = attempt > 1 ? color.yellow(` attempt ${attempt}`) : "";
      return `${time} ${task.task_id} ${color.dim(`(${plain(task.task_type)})`)} begins${who}${again}`;
    }
    case "ended":
      return `${time} ${ending(event, color)}`;
    case "held":
      if (event.reasons.length === 0) return `${time} everything may be claimed again`;
      return event.reasons.map((why) => `${time} ${color.yellow(plain(why))}`).join("\n");
    case "proven":
      return `${time} ${proven(event.result, color)}`;
    case "stopping":
      return event.running === 0
        ? `${time} stopping`
        : `${time} stopping when ${event.running} running ${event.running === 1 ? "task has" : "tasks have"} ended; once more to release now`;
    case "trouble": {
      const where = event.claim ? `${event.claim.task.task_id}: ` : "";
      return `${time} ${color.red(where + plain(messageOf(event.error)))}`;
    }
  }
}

function proven({ id, snake, end, unproven }: Proven["result"], color: Term["color"]): string {
  const whose = snake ? ` by ${plain(snake)}` : "";
  if (end.kind === "ended" && end.outcome === "done") {
    return `${id} ${color.green("done by hand")}${whose}, proven`;
  }
  const note = end.kind === "ended" && end.note ? `: ${plain(end.note)}` : "";
  const now = unproven ? ` (its result is done/${unproven} now)` : "";
  return `${id} ${color.yellow("unproven")}${whose}${note}${color.dim(now)}`;
}

type Proven = Extract<WorkerEvent, { kind: "proven" }>;

function ending(
  { claim, end, durationMs }: Extract<WorkerEvent, { kind: "ended" }>,
  color: Term["color"],
): string {
  const id = claim.task.task_id;
  if (end.kind === "lost") return `${id} ${color.yellow("was taken away; its result is dropped")}`;
  const { to, retryAt } = end.ended;
  const took = color.dim(`after ${formatTook(durationMs)}`);
  const note = end.note ? `: ${plain(end.note)}` : "";
  if (end.outcome === "done") {
    return `${id} ${color.green(to === "review" ? "waits for review" : "done")} ${took}`;
  }
  const next = retryAt ? `, again at ${retryAt.slice(11, 19)}` : to === "failed" ? "" : `, ${to}`;
  const paint = end.outcome === "released" || to !== "failed" ? color.yellow : color.red;
  return `${id} ${paint(end.outcome)} ${took}${note}${color.dim(next)}`;
}

function asJson(event: WorkerEvent): Record<string, unknown> {
  const at = new Date().toISOString();
  switch (event.kind) {
    case "claimed":
    case "ended": {
      const { claim } = event;
      const base = {
        kind: event.kind,
        at,
        id: claim.task.task_id,
        type: claim.task.task_type,
        attempt: claim.attempt,
      };
      if (event.kind === "claimed") return base;
      const { end } = event;
      const duration_ms = Math.round(event.durationMs);
      if (end.kind === "lost") return { ...base, outcome: "lost", duration_ms };
      const { to, retryAt } = end.ended;
      return {
        ...base,
        outcome: end.outcome,
        to,
        duration_ms,
        ...(end.note ? { note: end.note } : {}),
        ...(retryAt ? { retry_at: retryAt } : {}),
      };
    }
    case "proven": {
      const { id, snake, end, unproven } = event.result;
      const outcome = end.kind === "ended" ? end.outcome : "lost";
      return { kind: event.kind, at, id, snake, outcome, ...(unproven ? { unproven } : {}) };
    }
    case "trouble": {
      const code = isVivError(event.error) ? event.error.code : "BUG";
      const id = event.claim ? { id: event.claim.task.task_id } : {};
      return { kind: event.kind, at, ...id, code, message: messageOf(event.error) };
    }
    default:
      return { ...event, at };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
