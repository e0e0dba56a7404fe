import { formatUsd } from "../../base/amount.ts";
import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { complaint } from "../../base/issue.ts";
import type { Command } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import type { FreeContext, Op } from "../../operation/op.ts";
import { plain, type Term, termFor } from "../../operation/term.ts";
import { chooseCrew } from "../operations/choose.ts";
import { type CrewEvent, crewFor } from "../operations/start.ts";
import { type CrewUpInput, crewUp } from "../operations/up.ts";

export const command: Command = {
  op: crewUp,
  placeholders: { state: "DIR" },
  positionals: [{ key: "manifest" }],
  examples: [
    ["viv crew up crew.org", "until Ctrl-C: runs may finish; twice: at once"],
    [
      "viv crew up crew.org --grace 0s --stagger 100ms --max-concurrent 2 --port 0",
      "a try-out: at once, and with /_activity",
    ],
    ["WB_CREW_DEF=crew.org viv up", "the same, from the environment"],
  ],
  freeStream: (context, given, io, json) =>
    upWith(crewUp, context, given, io, json, (input) =>
      chooseCrew(context, { kind: "crew", ...(input as CrewUpInput) }),
    ),
};

/** Checks the flags, starts what they describe, and tells what happens until it ends. */
export async function upWith(
  op: Op,
  context: FreeContext,
  given: Record<string, unknown>,
  io: Io,
  json: boolean,
  choose: (input: unknown) => ReturnType<typeof chooseCrew>,
): Promise<number> {
  const parsed = op.input.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const flag = `--${String(issue?.path[0] ?? "").replaceAll("_", "-")}`;
    throw new VivError("USAGE", `${flag} ${issue ? complaint(issue) : "is not valid"}.`);
  }
  return runCrew(context, await choose(parsed.data), io, json);
}

/** Until it is stopped: the first signal lets runs finish, the second ends them. */
export async function runCrew(
  context: FreeContext,
  choice: Awaited<ReturnType<typeof chooseCrew>>,
  io: Io,
  json: boolean,
): Promise<number> {
  const term = termFor(io, io.stdout);
  const crew = await crewFor(context, choice, (event) => {
    const at = new Date(io.now()).toISOString();
    const { kind, ...rest } = event;
    const line = json ? JSON.stringify({ kind, at, ...rest }) : describeEvent(event, at, term);
    if (line !== null) io.stdout.write(`${line}\n`);
  });
  io.hearUrgent();
  io.signal.addEventListener("abort", () => void crew.stop());
  io.urgent.addEventListener("abort", () => void crew.stopNow());
  if (io.signal.aborted) return 0;
  await crew.run();
  return 0;
}

function describeEvent(event: CrewEvent, at: string, { color }: Term): string | null {
  const time = color.dim(at.slice(11, 19));
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up": {
      const page = event.port === undefined ? "" : `, http://127.0.0.1:${event.port}/_activity`;
      return `${time} ${event.members.join(", ")} (pid ${event.pid}${page})`;
    }
    case "log":
      return `${time} ${color.yellow(plain(event.text))}`;
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return `${time} ${event.name} ${color.yellow(`a run from before was ended, pid ${event.pid}${left}`)}`;
    }
    case "next":
      if (event.why !== "first") return null;
      return `${time} ${event.name} ticks in ${formatDuration(event.after_ms)}`;
    case "runs":
      return `${time} ${event.name} runs${event.lifecycle ? color.dim(` (${plain(event.lifecycle)})`) : ""}`;
    case "ran": {
      const paint =
        event.outcome === "done"
          ? color.green
          : event.outcome === "no_work"
            ? color.dim
            : color.red;
      const cost = event.usd === null ? "" : `, ${formatUsd(event.usd)}`;
      return `${time} ${event.name} ${paint(event.outcome.replace("_", " "))} ${color.dim(`after ${event.seconds} s${cost}`)}${note}`;
    }
    case "saved":
      return `${time} ${event.name} ${color.dim(`has no ticks while its RUN-IF says no${note}`)}`;
    case "due": {
      const count = event.meanwhile === 1 ? "1 tick" : `${event.meanwhile} ticks`;
      return `${time} ${event.name} ${color.dim(`is due again, after ${count} saved (${event.saved} in all)`)}`;
    }
    case "held":
      return `${time} ${event.name} ${color.yellow(`is held${note}`)}`;
    case "trouble":
      return `${time} ${event.name} ${color.red(plain(event.message))}`;
    case "stopping":
      return event.running.length === 0
        ? `${time} stopping`
        : `${time} stopping when ${event.running.join(", ")} ${event.running.length === 1 ? "is" : "are"} through; once more to end now`;
    case "finished":
      return `${time} all have ended`;
    case "parked":
      return `${time} ${event.name} ${color.red(`is parked${note}`)}`;
    default:
      return `${time} ${event.name} ${event.kind}${note}`;
  }
}
