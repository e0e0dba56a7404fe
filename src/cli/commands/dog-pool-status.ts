import { type PoolStatus, poolStatus } from "../../ops/warden/dogs.ts";
import type { DanceView } from "../../ops/warden/views.ts";
import type { Command } from "../command.ts";
import { plain } from "../term.ts";

export const command: Command = {
  op: poolStatus,
  placeholders: { state: "DIR" },
  examples: [["viv dog pool status", "who asks whom, and for how long"]],
  human: ({ active, pool, dogs, waiting, paused, up }: PoolStatus, { color }) =>
    [
      `${color.bold("Dog Pool:")} ${active}/${pool} active${waiting > 0 ? `, ${waiting} waiting` : ""}`,
      ...dogs.map((dog) => `  ${dog.dog}: ${danceWords(dog)}`),
      ...(paused
        ? [color.yellow(`paused: ${plain(paused.why)}; to go on: viv warden resume`)]
        : []),
      ...(up ? [] : [color.yellow("no warden is up here; start one: viv warden up")]),
    ].join("\n"),
};

function danceWords({ state, target, attempt, seconds_left, held }: DanceView): string {
  if (held !== null) return `holds the execution of ${plain(target)}`;
  const left = seconds_left === null ? "" : `, ${seconds_left}s remaining`;
  const more =
    state === "interrogating" || state === "evaluating" ? ` (attempt ${attempt}${left})` : "";
  return `${state} ${plain(target)}${more}`;
}
