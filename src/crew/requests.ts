import { VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import type { Gate } from "../gate/gate.ts";
import type { CrewMember } from "./member.ts";
import type { CrewEvent } from "./ports.ts";

/** The crew, as far as a request from its inbox can act on it. */
export interface RequestedCrew {
  gate: Gate | null;
  members: ReadonlyMap<string, CrewMember>;
  stop(): void;
  emit(event: CrewEvent): void;
}

/** Does what a file in the inbox asks for. An error is an answer, too. */
export async function answerTo(request: unknown, crew: RequestedCrew): Promise<object> {
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
