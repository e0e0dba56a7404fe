import { relative } from "node:path";
import * as z from "zod/mini";
import { formatTook } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import { type Cell, plain, prose, type Term, table } from "../operation/term.ts";
import { pauseLine } from "../queue/pause-line.ts";
import { pitInit, pitStatus, pitSweep, pitToss } from "./operations.ts";

/** The pit that a command was given as its first word, or else with --run. */
export function pitFrom(
  input: Record<string, unknown>,
  run: string | undefined,
): string | undefined {
  if (typeof input.pit !== "string") return run;
  if (run !== undefined) throw new VivError("USAGE", "name the pit once: as PIT or as --run.");
  return input.pit;
}

const pitInitCommand: Command = {
  op: {
    ...pitInit,
    input: z.strictObject({
      dir: z.optional(z.string().check(z.describe("path of the pit (default: ./pit)"))),
    }),
  },
  positionals: [{ key: "dir" }],
  runFrom: (input, run) => {
    if (typeof input.dir === "string" && run !== undefined) {
      throw new VivError(
        "USAGE",
        "name the folder once: viv pit init DIR, or viv pit init --run DIR.",
      );
    }
    return typeof input.dir === "string" ? input.dir : (run ?? "pit");
  },
  examples: [["viv pit init ./pit", "then toss food and start snakes"]],
  human: ({ pit, readme }: { pit: string; readme: string }, { color }, io) => {
    const path = relative(io.cwd, pit) || ".";
    const what = readme === "written" ? "made" : "is there";
    return `${color.green(what)} ${pit}\n${color.dim(`its README.md teaches the protocol; try: viv pit toss ${path} "what to do" --done-when "a command"`)}`;
  },
};

const pitTossCommand: Command = {
  op: pitToss,
  positionals: [{ key: "pit" }, { key: "task", many: true, needed: true }],
  names: { for: "type", part_of: "parent", after: "depends-on" },
  placeholders: { task: "TASK" },
  runFrom: (input, run) =>
    // Without further words the first one is the task, and the pit is found as any run is.
    Array.isArray(input.task) && input.task.length > 0 ? pitFrom(input, run) : run,
  examples: [
    [
      `viv pit toss ./pit "Write reverse(s) in scraps/reverse.js" --done-when "node --test scraps"`,
      "the first free snake does it; the command proves it",
    ],
    [`viv pit toss ./pit "Rewrite the parser" --too-big`, "the planner splits it"],
    [`viv pit toss "Test the second half"`, "from a snake: records its name and its food"],
  ],
  human: ({ id, path, state }: { id: string; path: string; state: string }, { color }, io) =>
    `${color.green("tossed")} ${id}${state === "waiting" ? " (it waits)" : ""} ${color.dim(relative(io.cwd, path))}`,
};

type StatusOutput = z.output<typeof pitStatus.output>;

const pitStatusCommand: Command = {
  op: pitStatus,
  positionals: [{ key: "pit" }],
  runFrom: pitFrom,
  examples: [["viv pit status ./pit", "claims, and stuck food with the reason"]],
  human: (output: StatusOutput, term) => {
    const { color } = term;
    const sections: [string, Cell[][]][] = [
      ["Digesting", output.digesting.map((one) => digesting(one, term))],
      ["Stuck", output.stuck.map((one) => stuck(one, term))],
      ["For the keeper", output.keeper.map((one) => [one.food, prose(plain(one.task))])],
      [
        "Results by hand",
        output.results.map(({ food, snake, note }) => [food, snake ?? "?", prose(plain(note))]),
      ],
      ["Unproven results", output.unproven.map((one) => [one.food, one.result])],
      [
        "Not food",
        output.quarantined.map((one) => [plain(one.from || one.name), prose(plain(one.reason))]),
      ],
      [
        "One number, several foods",
        output.same_number.map(({ number, foods }) => [String(number), foods.join(", ")]),
      ],
    ];
    const texts = sections
      .filter(([, rows]) => rows.length > 0)
      .map(([title, rows]) => `${color.bold(title)}\n${table(rows, term)}`);
    if (output.digesting.length === 0) texts.unshift(color.dim("no snake is digesting"));
    if (output.paused) texts.unshift(color.yellow(plain(pauseLine(output.paused))));
    return [countsLine(output, term), ...texts].join("\n\n");
  },
};

function countsLine({ counts, done_without_proof: bare }: StatusOutput, { color }: Term): string {
  const words: [string, number, (text: string) => string][] = [
    ["food", counts.pending, color.cyan],
    ["claimed", counts.claimed, color.yellow],
    ["done", counts.done, color.green],
    ["resting", counts.waiting, color.dim],
    ["in review", counts.review, color.yellow],
    ["stuck", counts.failed, color.red],
  ];
  return words
    .filter(([word, n]) => n > 0 || word === "food" || word === "done")
    .map(([word, n, paint]) => {
      const note = word === "done" && bare > 0 ? color.dim(` (${bare} without a proof)`) : "";
      return `${n} ${paint(word)}${note}`;
    })
    .join(" · ");
}

function digesting(one: StatusOutput["digesting"][number], { color }: Term): Cell[] {
  const quiet = one.quiet_seconds;
  let life = quiet > 60 ? color.yellow(`quiet for ${formatTook(quiet * 1000)}`) : "";
  if (!one.alive) life = color.red("gives no sign of life");
  return [plain(one.snake), one.food, formatTook(one.seconds * 1000), life, prose(plain(one.task))];
}

function stuck(one: StatusOutput["stuck"][number], { color }: Term): Cell[] {
  const state = one.state === "failed" ? color.red("stuck") : color.yellow(one.state);
  return [state, one.food, prose(plain(one.why)), color.dim(one.command ?? "")];
}

type SweepOutput = z.output<typeof pitSweep.output>;

const pitSweepCommand: Command = {
  op: pitSweep,
  positionals: [{ key: "pit" }],
  runFrom: pitFrom,
  examples: [
    ["viv pit sweep ./pit", "once; viv up runs it on a schedule"],
    ["viv pit sweep ./pit --stale-after 10m --keep-logs 2d", "reclaim sooner, keep fewer logs"],
  ],
  human: (output: SweepOutput, { color }) => {
    const { reclaimed, results, unproven, adopted, logs, pruned, kept, trouble } = output;
    const prunedNote = pruned.length > 0 ? `, ${pruned.length} pruned` : "";
    const keptNote = kept.length > 0 ? `, ${counted(kept.length, "old one")} kept for a scrap` : "";
    return [
      ...reclaimed.map(
        ({ food, snake, to }) =>
          `${color.yellow("reclaimed")} ${food} from ${plain(snake)} (${to})`,
      ),
      ...results.flatMap(({ food, snake, how }) => {
        const by = snake === null ? "" : ` by ${plain(snake)}`;
        if (how === "proven") return [`${color.green("proven")} ${food}${by}`];
        if (how === "eaten") return [`${color.green("eaten")} ${food}${by}, without a proof`];
        if (how !== "review") return [];
        return [
          `${color.yellow("review")} ${food}${by}: a person must approve it: viv approve ${food}`,
        ];
      }),
      ...unproven.map(
        ({ food, result, note }) =>
          `${color.yellow("unproven")} ${food}: ${plain(note)}${result ? color.dim(` ${result}`) : ""}`,
      ),
      ...(adopted > 0 ? [`${adopted} new food`] : []),
      `${counted(logs, "log")} in waste/${prunedNote}${keptNote}`,
      ...(trouble ? [color.red(plain(trouble))] : []),
    ].join("\n");
  },
};

export const commands = {
  "pit init": pitInitCommand,
  "pit toss": pitTossCommand,
  "pit status": pitStatusCommand,
  "pit sweep": pitSweepCommand,
} satisfies Record<string, Command>;
