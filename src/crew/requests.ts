import { resolve } from "node:path";
import { type ErrorCode, VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import type { Gate } from "../gate/gate.ts";
import type { Context } from "../operation/operation.ts";
import { crewSection } from "./config.ts";
import { type CrewEvent, type CrewPorts, crewPort } from "./crew-ports.ts";
import type { CrewMember } from "./member.ts";
import type { CrewJson } from "./member-status.ts";

/** Requests of commands to a running crew: one file in its inbox, and the answer in its outbox. */
export interface CrewRequest {
  cmd: "tick" | "pause" | "resume" | "stop";
  name?: string;
}

interface Answer {
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

/** The crew that a command is about. `ask` is null when no supervisor runs, and rejects when it refuses. */
export async function findCrew(context: Context, given: string | undefined) {
  const ports = await context.use(crewPort);
  const state = stateFolder(given, context, ports);
  const files = ports.filesIn(state);
  const isUp = () => isSupervised(files.crew(), ports);
  const ask = async (request: CrewRequest, signal?: AbortSignal): Promise<Answer> => {
    const id = `${request.cmd}-${ports.newMark()}`;
    files.leaveRequest(id, request);
    const limit = request.cmd === "tick" ? Number.POSITIVE_INFINITY : PATIENCE_MS;
    const began = performance.now();
    for (;;) {
      // Before the look: to "stop" a crew answers in its last moment.
      const wasUp = isUp();
      const answer = files.takeAnswer(id) as Answer | null;
      if (answer?.ok) return answer;
      if (answer !== null) {
        const { code = "UNSUPPORTED", message = "the crew refused the request." } = answer;
        throw new VivError(code, message);
      }
      signal?.throwIfAborted();
      if (!wasUp) throw new VivError("UNSUPPORTED", "the crew ended before it answered.");
      if (performance.now() - began > limit) {
        throw new VivError("LOCKED", "the crew does not answer.");
      }
      await new Promise<void>((resolve) => ports.timers.after(LOOK_MS, resolve));
    }
  };
  return { state, ports, files, ask: isUp() ? ask : null };
}

/** Whether the supervisor that wrote this crew.json still runs. */
export function isSupervised(
  crew: CrewJson | null,
  { machine }: Pick<CrewPorts, "machine">,
): crew is CrewJson {
  return crew !== null && crew.ended === undefined && machine.vitality(crew) === "alive";
}

/** `--state-dir`, or that of viv.toml, or the nearest .crew from here upwards. */
function stateFolder(given: string | undefined, { here }: Context, ports: CrewPorts): string {
  const { config, cwd } = here;
  if (given !== undefined) {
    const folder = resolve(cwd, given);
    if (ports.isThere(folder)) return folder;
    const message = `there is no crew's state at ${folder}; start one: viv crew up`;
    throw new VivError("RUN_NOT_FOUND", message);
  }
  const named = config?.section(crewSection)?.state;
  if (config && named !== undefined) {
    const folder = resolve(config.folder, named);
    if (ports.isThere(folder)) return folder;
  }
  const near = ports.findUp(".crew", cwd);
  if (near !== null) return near;
  throw new VivError(
    "RUN_NOT_FOUND",
    "there is no crew here (.crew); go to its folder, pass --state-dir DIR, or start one: viv crew up crew.org",
  );
}

interface RequestedCrew {
  gate: Gate | null;
  members: ReadonlyMap<string, CrewMember>;
  stop(): void;
  emit(event: CrewEvent): void;
}

/** Carries out a request from the inbox. An error is an answer, too. */
export async function answerTo(request: unknown, crew: RequestedCrew): Promise<Answer> {
  const { cmd, name, max } = (request ?? {}) as { cmd?: unknown; name?: unknown; max?: unknown };
  try {
    if (max !== undefined) {
      setMax(crew.gate, max);
      return { ok: true };
    }
    if (cmd === "stop" && name === undefined) {
      crew.stop();
      return { ok: true };
    }
    const member = crew.members.get(String(name));
    if (member === undefined) throw unknownMember(String(name), crew.members.keys());
    if (cmd === "tick") {
      const outcome = await member.tickNow();
      return { ok: true, outcome, state: member.state, note: member.note };
    }
    if (cmd === "pause") await member.pause();
    else if (cmd === "resume") member.resume();
    else throw new VivError("USAGE", `unknown crew command ${JSON.stringify(cmd)}.`);
    crew.emit({ kind: cmd === "resume" ? "resumed" : "paused", name: member.name, note: "" });
    return { ok: true, state: member.state };
  } catch (error) {
    const code = error instanceof VivError ? error.code : undefined;
    return { ok: false, message: (error as Error).message, code };
  }
}

function setMax(gate: Gate | null, max: unknown): void {
  if (gate === null) throw new VivError("WRONG_STATE", "a keeper has no gate.");
  if (!Number.isSafeInteger(max) || Number(max) < 1) {
    throw new VivError("INVALID", "a crew's maximum is a whole number, at least 1.");
  }
  gate.setMax(Number(max));
}

export function unknownMember(name: string, names: Iterable<string>): VivError {
  const known = [...names];
  const meant = suggest(name, known);
  const hint = meant ? `did you mean ${meant}?` : `there are: ${known.join(", ")}`;
  return new VivError("TASK_NOT_FOUND", `there is no member ${JSON.stringify(name)}; ${hint}`);
}
