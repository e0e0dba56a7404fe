import { formatDuration, formatTook } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { complaint } from "../../base/issue.ts";
import { runCrew } from "../../crew/cli/up.ts";
import { chooseFromSurroundings } from "../../crew/operations/choose.ts";
import type { Command } from "../../operation/command.ts";
import { plain, type Term, termFor } from "../../operation/term.ts";
import { withWarden } from "../../warden/cli/up.ts";
import { type UpEvent, type UpInput, up, upFor } from "../operations/up.ts";

export const command: Command = {
  op: up,
  shorts: { config: "c" },
  examples: [
    ["viv up", "the agents of ./agents.toml; Ctrl-C lets them finish their food, twice: at once"],
    ["viv up -c ./pit/agents.toml --json", "what happens, one object per line"],
    ["WB_CREW_DEF=crew.org viv up", "without agents.toml: a crew, or the keeper of WB_KEEPER_DEF"],
    ["viv up --drain", "until nothing is left that they could do"],
    ["viv status --config agents.toml", "from another terminal: how each of them is"],
  ],
  freeStream: async (context, given, io, json) => {
    const parsed = up.input.safeParse(given);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const flag = `--${String(issue?.path[0] ?? "").replaceAll("_", "-")}`;
      throw new VivError("USAGE", `${flag} ${issue ? complaint(issue) : "is not valid"}.`);
    }
    const crew = parsed.data.config === undefined ? await chooseFromSurroundings(context) : null;
    if (crew !== null) {
      if (parsed.data.drain) {
        throw new VivError("USAGE", "--drain is for the agents of a pit; a crew is never through.");
      }
      return withWarden(context, io, json, () => runCrew(context, crew, io, json));
    }
    const term = termFor(io, io.stdout);
    const service = await upFor(context, parsed.data as UpInput, (event) => {
      const at = new Date(io.now()).toISOString();
      const { kind, ...rest } = event;
      const line = json ? JSON.stringify({ kind, at, ...rest }) : describe(event, at, term);
      if (line !== null) io.stdout.write(`${line}\n`);
    });
    io.hearUrgent();
    io.signal.addEventListener("abort", () => void service.stop());
    io.urgent.addEventListener("abort", () => void service.stopNow());
    if (io.signal.aborted) return 0;
    return withWarden(context, io, json, async () => {
      // Also when all are parked: whoever looks (viv status -c) must find it there, and why.
      const alive = setInterval(() => {}, 60_000);
      try {
        await service.run();
      } finally {
        clearInterval(alive);
      }
      return 0;
    });
  },
};

function describe(event: UpEvent, at: string, { color }: Term): string | null {
  const time = color.dim(at.slice(11, 19));
  const note = "note" in event && event.note ? `: ${plain(event.note)}` : "";
  switch (event.kind) {
    case "up": {
      const count = `${event.agents.length} agent${event.agents.length === 1 ? "" : "s"}`;
      return `${time} ${count} around ${plain(event.pit)} (pid ${event.pid})`;
    }
    case "leftover": {
      const left = event.survivors.length > 0 ? `; still there: ${event.survivors.join(", ")}` : "";
      return `${time} ${event.name} ${color.yellow(`a run from before was ended, pid ${event.pid}${left}`)}`;
    }
    case "started":
      return `${time} ${event.name} ${color.green("started")}, pid ${event.pid}`;
    case "ended":
      return `${time} ${event.name} ${note ? color.yellow(`ended${note}`) : "ended"}`;
    case "restarts":
      return `${time} ${event.name} restarts in ${formatDuration(event.after_ms)}`;
    case "waits":
      return `${time} ${event.name} ${color.yellow(`waits for its name${note}`)}`;
    case "parked":
      return `${time} ${event.name} ${color.red(`is parked${note}`)}`;
    case "runs":
      return null; // its end is told in a moment
    case "ran": {
      const took = color.dim(`in ${formatTook(event.duration_ms)}`);
      return `${time} ${event.name} ${note ? color.yellow(note.slice(2)) : "ran"} ${took}`;
    }
    case "trouble":
      return `${time} ${event.name} ${color.red(plain(event.message))}`;
    case "stopping": {
      const busy = event.working.join(", ");
      return busy === ""
        ? `${time} stopping`
        : `${time} stopping when ${busy} ${event.working.length === 1 ? "is" : "are"} through; once more to release now`;
    }
    case "finished":
      return `${time} all have ended`;
  }
}
