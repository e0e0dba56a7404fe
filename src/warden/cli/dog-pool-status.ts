import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { type PoolStatus, poolStatus } from "../operations/dogs.ts";
import type { DanceView } from "../operations/views.ts";

export const command: Command = {
  op: poolStatus,
  placeholders: { state: "DIR" },
  examples: [["viv dog pool status", "who asks whom, and for how long"]],
  human: (status: PoolStatus, { color }) => {
    const { active, pool, waiting, paused, up } = status;
    return [
      `${color.bold("Dog Pool:")} ${active}/${pool} active${waiting > 0 ? `, ${waiting} waiting` : ""}`,
      ...dogLines(status).map((line) => `  ${line}`),
      ...(paused
        ? [color.yellow(`paused: ${plain(paused.why)}; to go on: viv warden resume`)]
        : []),
      ...(up ? [] : [color.yellow("no warden is up here; start one: viv warden up")]),
    ].join("\n");
  },
};

/** A dog has a number of its own only as long as it has a warrant. */
export function dogLines({ dogs, idle }: PoolStatus): string[] {
  return [
    ...dogs.map((dog) => `${dog.dog}: ${danceWords(dog)}`),
    ...Array.from({ length: idle }, (_, n) => `dog-${dogs.length + n + 1}: idle`),
  ];
}

function danceWords({ state, target, attempt, seconds_left, held }: DanceView): string {
  if (held !== null) return `holds the execution of ${plain(target)}`;
  const left = seconds_left === null ? "" : `, ${seconds_left}s remaining`;
  const more =
    state === "interrogating" || state === "evaluating" ? ` (attempt ${attempt}${left})` : "";
  return `${state} ${plain(target)}${more}`;
}
