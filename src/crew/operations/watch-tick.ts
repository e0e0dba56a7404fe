import * as z from "zod/mini";
import { type Context, defineStream, eventsOf } from "../../operation/operation.ts";
import type { CrewLine } from "../status.ts";
import { askingOf, assertOk } from "./ask.ts";
import { chooseAgain } from "./choose.ts";
import { crewState, memberName } from "./control.ts";
import { crewFor } from "./start.ts";

export interface Ticked {
  name: string;
  outcome: string | null;
  /** What it is after that. */
  state: string;
  note: string;
}

const LOOK_MS = 100;

/** By the crew that runs, or else right here. */
export const crewTick = defineStream({
  name: "crew tick",
  summary: "one tick of one member now, whatever its clock says",
  input: z.strictObject({ name: memberName, state: crewState }),
  /** Its steps as they come, and at last what came of it. */
  event: z.looseObject({}) as unknown as z.ZodMiniType<CrewLine | Ticked>,
  output: z.object({
    name: z.string(),
    outcome: z.nullable(z.string()),
    state: z.string(),
    note: z.string(),
  }),
  stream: (context, given) =>
    eventsOf<CrewLine | Ticked, Ticked>(async (emit) => {
      const ticked = await watchTick(context, given, emit);
      emit(ticked);
      return ticked;
    }),
});

async function watchTick(
  context: Context,
  given: { name: string; state?: string | undefined },
  onLine: (line: CrewLine) => void,
): Promise<Ticked> {
  const { name } = given;
  const { signal } = context;
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
  context: Context,
  state: string,
  name: string,
  signal: AbortSignal,
): Promise<{ outcome: string | null; state: string; note: string }> {
  const crew = await crewFor(context, await chooseAgain(context, state), () => {});
  signal.addEventListener("abort", () => void crew.stopNow());
  return crew.tickOnce(name);
}
