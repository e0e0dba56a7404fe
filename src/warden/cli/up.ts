import type { Command } from "../../operation/command.ts";
import type { Stamped } from "../../operation/operation.ts";
import { plain, type Term } from "../../operation/term.ts";
import { type UpWardenEvent, wardenUp } from "../operations/up.ts";

export const command: Command = {
  op: wardenUp,
  placeholders: { state: "DIR", timeouts: "60s,120s,240s" },
  examples: [
    ["viv warden up", "until Ctrl-C; dances go on at the next start"],
    ["viv warden up --timeouts 6s,12s,24s --pool 2 --state ./w", "a try-out"],
  ],
  view: wardenView,
};

export function wardenView(term: Term) {
  return { event: (event: Stamped<UpWardenEvent>) => describe(event, term) };
}

function describe(event: Stamped<UpWardenEvent>, { color }: Term): string {
  const time = color.dim(event.at.slice(11, 19));
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
