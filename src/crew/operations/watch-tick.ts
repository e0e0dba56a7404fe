import { VivError } from "../../base/errors.ts";
import type { FreeContext } from "../../operation/op.ts";
import type { CrewLine } from "../status.ts";
import { askingOf, assertOk } from "./ask.ts";
import { chooseAgain } from "./choose.ts";
import { crewFor } from "./start.ts";

export interface Ticked {
  name: string;
  outcome: string | null;
  /** What it is after that. */
  state: string;
  note: string;
}

const LOOK_MS = 100;

/** One tick of one member, and its steps as they come: by the crew that runs, or else right here. */
export async function watchTick(
  context: FreeContext,
  given: { name?: string; state?: string },
  signal: AbortSignal,
  onLine: (line: CrewLine) => void,
): Promise<Ticked> {
  const { name } = given;
  if (!name) throw new VivError("USAGE", "which member? viv crew tick NAME");
  const { ask, ports, state } = await askingOf(context, given.state);
  const files = ports.filesIn(state);
  let { place } = files.linesFrom(null);
  const look = () => {
    const news = files.linesFrom(place);
    place = news.place;
    for (const line of news.lines) if (line.agent === name) onLine(line);
  };
  let isOver = false;
  const lookLater = () => {
    ports.timers.after(LOOK_MS, () => {
      if (isOver) return;
      look();
      lookLater();
    });
  };
  lookLater();
  try {
    const {
      outcome = null,
      note = "",
      state: is = "",
    } = ask
      ? assertOk(await ask({ cmd: "tick", name }, signal))
      : await tickHere(context, state, name, signal);
    look();
    return { name, outcome, state: is, note };
  } finally {
    isOver = true;
  }
}

async function tickHere(
  context: FreeContext,
  state: string,
  name: string,
  signal: AbortSignal,
): Promise<{ outcome: string | null; state: string; note: string }> {
  const crew = await crewFor(context, await chooseAgain(context, state), () => {});
  signal.addEventListener("abort", () => void crew.stopNow());
  return crew.tickOnce(name);
}
