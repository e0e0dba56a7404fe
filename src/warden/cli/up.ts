import { VivError } from "../../base/errors.ts";
import { complaint } from "../../base/issue.ts";
import type { Command } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import type { FreeContext } from "../../operation/op.ts";
import { plain, type Term, termFor } from "../../operation/term.ts";
import { wardenSection } from "../config.ts";
import {
  type UpWardenEvent,
  type WardenService,
  type WardenUpInput,
  wardenFor,
  wardenUp,
} from "../operations/up.ts";

export const command: Command = {
  op: wardenUp,
  placeholders: { state: "DIR", timeouts: "60s,120s,240s" },
  examples: [
    ["viv warden up", "until Ctrl-C; dances go on at the next start"],
    ["viv warden up --timeouts 6s,12s,24s --pool 2 --state ./w", "a try-out"],
  ],
  freeStream: async (context, given, io, json) => {
    const parsed = wardenUp.input.safeParse(given);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const flag = `--${String(issue?.path[0] ?? "").replaceAll("_", "-")}`;
      throw new VivError("USAGE", `${flag} ${issue ? complaint(issue) : "is not valid"}.`);
    }
    const warden = await startWarden(context, parsed.data as WardenUpInput, io, json);
    io.signal.addEventListener("abort", () => warden.stop());
    if (io.signal.aborted) return 0;
    await warden.run();
    return 0;
  },
};

/**
 * Beside agents or a crew: the warden of `[warden]` in viv.toml, as long as they are there. Where
 * another keeps that folder already, that one does.
 */
export async function withWarden(
  context: FreeContext,
  io: Io,
  json: boolean,
  act: () => Promise<number>,
): Promise<number> {
  if (context.here?.config?.section(wardenSection) === undefined) return act();
  const warden = await startWarden(context, {}, io, json);
  const over = warden.run().catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    io.stderr.write(`viv: without a warden of its own: ${plain(message)}\n`);
  });
  try {
    return await act();
  } finally {
    warden.stop();
    await over;
  }
}

export function startWarden(
  context: FreeContext,
  given: WardenUpInput,
  io: Io,
  json: boolean,
): Promise<WardenService> {
  const term = termFor(io, io.stdout);
  return wardenFor(context, given, (event) => {
    const at = new Date(io.now()).toISOString();
    const { kind, ...rest } = event;
    const line = json ? JSON.stringify({ kind, at, ...rest }) : describe(event, at, term);
    io.stdout.write(`${line}\n`);
  });
}

function describe(event: UpWardenEvent, at: string, { color }: Term): string {
  const time = color.dim(at.slice(11, 19));
  const who = "target" in event ? plain(event.target) : "";
  switch (event.kind) {
    case "up":
      return `${time} the warden is up with ${event.pool} dogs (pid ${event.pid}, ${plain(event.state)})`;
    case "begins":
      return `${time} ${event.dog} takes ${plain(event.warrant)}: ${who}, ${plain(event.reason)}`;
    case "resumes":
      return `${time} ${event.dog} goes on with ${who} (${event.state})`;
    case "asked":
      return `${time} ${event.dog} asks ${who}, attempt ${event.attempt}, in ${plain(event.channel)}`;
    case "watched":
      return `${time} ${event.dog} watches ${who}, attempt ${event.attempt}: ${plain(event.why)}`;
    case "turn":
      return `${time} ${event.dog} ${who} holds the question back until its turn ends`;
    case "needs_you":
      return `${time} ${event.dog} ${color.yellow(plain(event.why))}`;
    case "holds":
      return `${time} ${event.dog} ${color.yellow(`holds: ${who}, ${plain(event.why)}`)}`;
    case "executes": {
      // Not "ends": a last look may still find that something in it was not asked.
      const processes = event.processes === 1 ? "1 process" : `${event.processes} processes`;
      return `${time} ${event.dog} ${color.red(`is about to end ${who}`)}, ${processes}`;
    }
    case "verdict": {
      const paint = event.verdict === "pardoned" ? color.green : color.red;
      return `${time} ${event.dog} ${who}: ${paint(event.verdict)}, ${plain(event.why)}`;
    }
    case "rejected":
      return `${time} ${color.yellow(`rejected ${plain(event.name)}: ${plain(event.why)}`)}`;
    case "withdrawn":
    case "released":
      return `${time} ${plain(event.warrant)} was ${event.kind} (${who})`;
    case "queued":
      return `${time} Warrant ${plain(event.warrant)} queued (${event.why}): ${who}`;
    case "paused":
      return `${time} ${color.red(`the pool is paused: ${plain(event.why)}`)}`;
    case "resumed":
      return `${time} the pool goes on`;
    case "observed":
      return `${time} ${color.yellow(`${event.rule}: ${who}`)}, ${plain(event.evidence)}`;
    case "ceased":
      return `${time} ${event.rule} no more: ${who}`;
    case "filed":
      return `${time} ${color.yellow(`${event.rule}: ${who}`)}, ${plain(event.evidence)}; filed ${event.warrant}`;
    case "trouble":
      return `${time} ${color.red(plain("what" in event ? event.what : event.message))}`;
    case "stopped":
      return `${time} the warden has stopped`;
  }
}
