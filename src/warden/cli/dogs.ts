import type * as z from "zod/mini";
import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import {
  type DogDances,
  dogDances,
  dogStatus,
  type PoolStatus,
  poolAllocate,
  poolRelease,
  poolStatus,
} from "../operations/dogs.ts";
import type { DanceView } from "../operations/views.ts";
import { dogWarrants, type WarrantList } from "../operations/warrants.ts";
import { badLines, warrantRows } from "./warrants.ts";

const dogPoolStatusCommand: Command = {
  op: poolStatus,
  placeholders: { state: "DIR" },
  examples: [["viv dog pool status", "each dog, its target and the time left"]],
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

const dogStatusCommand: Command = {
  op: dogStatus,
  placeholders: { state: "DIR" },
  examples: [["viv dog status --active", "a line for each dog that has a warrant"]],
  human: (status: PoolStatus, { color }) =>
    dogLines(status).join("\n") || color.dim("no dog is active"),
};

const dogPoolAllocateCommand: Command = {
  op: poolAllocate,
  placeholders: { state: "DIR" },
  positionals: [{ key: "warrant" }],
  examples: [["viv dog pool allocate w1", "assign it now"]],
  human: ({ dog, warrant, target, notes }: z.output<typeof poolAllocate.output>, { color }) =>
    [
      `${dog} takes ${plain(warrant)} (${plain(target)})`,
      ...notes.map((note) => color.yellow(note)),
    ].join("\n"),
};

const dogPoolReleaseCommand: Command = {
  op: poolRelease,
  placeholders: { state: "DIR" },
  positionals: [{ key: "dog" }],
  examples: [["viv dog pool release dog-1763226000000", "its warrant is queued again"]],
  human: ({ dog, warrant, target, notes }: z.output<typeof poolRelease.output>, { color }) =>
    [
      `${plain(dog)} was asked to give ${plain(warrant)} back (${plain(target)})`,
      ...notes.map((note) => color.yellow(note)),
    ].join("\n"),
};

const dogDancesCommand: Command = {
  op: dogDances,
  placeholders: { state: "DIR" },
  examples: [["viv dog dances", "the running dances"]],
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

const dogWarrantsCommand: Command = {
  op: dogWarrants,
  placeholders: { state: "DIR" },
  examples: [["viv dog warrants", "the queue"]],
  human: (output: Pick<WarrantList, "warrants" | "bad">, term) => {
    const { color } = term;
    const { length } = output.warrants;
    const list = length === 0 ? [] : [table(warrantRows(output, term), term)];
    const title = length === 0 ? color.dim("no warrant waits") : `Warrants: ${length} waiting`;
    return [title, ...list, ...badLines(output, term)].join("\n");
  },
};

export const commands = {
  "dog pool status": dogPoolStatusCommand,
  "dog status": dogStatusCommand,
  "dog pool allocate": dogPoolAllocateCommand,
  "dog pool release": dogPoolReleaseCommand,
  "dog dances": dogDancesCommand,
  "dog warrants": dogWarrantsCommand,
} satisfies Record<string, Command>;
