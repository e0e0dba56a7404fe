import { formatDuration, formatTook } from "../../base/duration.ts";
import type { Stamped } from "../../operation/operation.ts";
import { plain, type Term } from "../../operation/term.ts";
import type { UpEvent } from "../operations/up.ts";

export function upView(term: Term) {
  return { event: (event: Stamped<UpEvent>) => describe(event, term) };
}

function describe(event: Stamped<UpEvent>, { color }: Term): string | null {
  const time = color.dim(event.at.slice(11, 19));
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
