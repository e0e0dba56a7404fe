import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { type DogDances, dogDances } from "../operations/dogs.ts";
import type { DanceView } from "../operations/views.ts";

export const command: Command = {
  op: dogDances,
  placeholders: { state: "DIR" },
  examples: [["viv dog dances", "the dances in progress"]],
  human: ({ dances, paused }: DogDances, { color }) =>
    [
      dances.length === 0
        ? color.dim("no dance is under way")
        : color.bold("Active Shutdown Dances:"),
      ...dances.map((one) => `  ${one.dog} → ${plain(one.target)}: ${stateWords(one)}`),
      ...(paused
        ? [color.yellow(`paused: ${plain(paused.why)}; to go on: viv warden resume`)]
        : []),
    ].join("\n"),
};

function stateWords({ state, attempt, attempts, seconds_left, held }: DanceView): string {
  if (state === "executing") return "Executing warrant";
  if (held !== null) return "Held before its execution; a person must say: viv warden resume";
  const name = `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
  const left = seconds_left === null ? "" : `, timeout in ${seconds_left}s`;
  return state === "interrogating" || state === "evaluating"
    ? `${name} (${attempt}/${attempts})${left}`
    : name;
}
