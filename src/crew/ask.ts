import { resolve } from "node:path";
import type { ProcessIdentity } from "../base/clock.ts";
import { type ErrorCode, VivError } from "../base/errors.ts";
import type { Context, Here } from "../operation/operation.ts";
import { crewSurroundings } from "./assemble.ts";
import type { CrewPorts } from "./crew-ports.ts";
import { crewSection } from "./settings.ts";

/** What a command asks of a crew that runs, through a file in its inbox; and the answer. */
export interface Asking {
  state: string;
  ports: CrewPorts;
  /** Null when no supervisor runs. */
  ask: ((request: object, signal?: AbortSignal) => Promise<Answer>) | null;
}

export interface Answer {
  ok: boolean;
  message?: string;
  outcome?: string | null;
  state?: string;
  note?: string;
  code?: ErrorCode;
}

const LOOK_MS = 50;
/** A supervisor that is alive looks once a second. */
const PATIENCE_MS = 20_000;

export async function askingOf(context: Context, state: string | undefined): Promise<Asking> {
  const { here, ports } = await crewSurroundings(context);
  const folder = stateFolder(state, here, ports);
  const files = ports.filesIn(folder);
  const isUp = () => isSupervised(files.readJson("crew"), ports);
  if (!isUp()) return { state: folder, ports, ask: null };
  const ask = async (request: object, signal?: AbortSignal): Promise<Answer> => {
    const id = `${(request as { cmd?: string }).cmd ?? "ask"}-${ports.newMark()}`;
    files.leaveRequest(id, request);
    const isTick = (request as { cmd?: string }).cmd === "tick";
    const limit = isTick ? Number.POSITIVE_INFINITY : performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = files.takeAnswer(id) as Answer | null;
      if (answer !== null) return answer;
      signal?.throwIfAborted();
      if (!isUp()) throw new VivError("UNSUPPORTED", "the crew ended before it answered.");
      if (performance.now() > limit) throw new VivError("LOCKED", "the crew does not answer.");
      await new Promise<void>((resolve) => ports.timers.after(LOOK_MS, resolve));
    }
  };
  return { state: folder, ports, ask };
}

/** Whether the supervisor that wrote this crew.json still runs. */
export function isSupervised<T>(
  crew: T,
  { machine }: Pick<CrewPorts, "machine">,
): crew is T & object {
  if (crew === null) return false;
  const { ended, ...identity } = crew as unknown as ProcessIdentity & { ended?: string };
  return ended === undefined && machine.vitality(identity) === "alive";
}

export function assertOk(answer: Answer): Answer {
  if (answer.ok) return answer;
  throw new VivError(
    answer.code ?? "UNSUPPORTED",
    answer.message ?? "the crew refused the request.",
  );
}

/** The state of the crew that a command is about: `--state`, or the nearest .crew from here upwards. */
export function stateFolder(given: string | undefined, here: Here, ports: CrewPorts): string {
  if (given !== undefined) {
    const folder = resolve(here.cwd, given);
    if (ports.isThere(folder)) return folder;
    throw new VivError(
      "RUN_NOT_FOUND",
      `there is no crew's state at ${folder}; start one: viv crew up`,
    );
  }
  const named = here.config?.section(crewSection)?.state;
  if (here.config && named !== undefined) {
    const folder = resolve(here.config.folder, named);
    if (ports.isThere(folder)) return folder;
  }
  const near = ports.findUp(".crew", here.cwd);
  if (near !== null) return near;
  throw new VivError(
    "RUN_NOT_FOUND",
    "there is no crew here (.crew); go to its folder, pass --state DIR, or start one: viv crew up crew.org",
  );
}
