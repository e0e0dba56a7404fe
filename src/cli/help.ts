import { CATALOG, OTHER_COMMANDS } from "./catalog.ts";
import type { Command } from "./command.ts";
import { type Flag, flagsOf, GLOBAL_FLAGS } from "./flags.ts";
import type { Term } from "./term.ts";

const GROUPS = {
  tasks: "Tasks",
  workers: "Workers",
  looking: "Looking",
  care: "Care",
} as const;

export function overview(term: Term): string {
  const { bold, cyan, dim } = term.color;
  const lines = [
    `${bold("viv")}: a queue for fleets of agents in which the filesystem is the coordinator.`,
    "",
    `  ${bold("viv")} COMMAND [--run DIR] [--json] …`,
  ];
  for (const [group, title] of Object.entries(GROUPS)) {
    lines.push("", bold(title));
    for (const { name, summary } of CATALOG.filter((entry) => entry.group === group)) {
      lines.push(`  ${cyan(name.padEnd(11))} ${summary}`);
    }
  }
  lines.push("", bold("More"));
  for (const { name, summary } of OTHER_COMMANDS)
    lines.push(`  ${cyan(name.padEnd(11))} ${summary}`);
  lines.push(
    "",
    bold("Try"),
    `  ${cyan("viv demo")}                                        ${dim("# see it work, in a throw-away run")}`,
    `  ${cyan("viv enqueue --run ./audit --type audit --id t.1")}`,
    `  ${cyan("viv claim --run ./audit --worker me")}`,
    `  ${cyan("viv complete --run ./audit --worker me t.1")}`,
    "",
    dim(
      "viv COMMAND --help explains a command. Exit statuses: 0 fine, 1 no (doctor found something),",
    ),
    dim(
      "2 usage or bad input, 3 not found, 4 conflict (exists, wrong state, claim lost), 5 the run or",
    ),
    dim("the machine is in no state for it, 70 a bug."),
  );
  return lines.join("\n");
}

export function helpFor(name: string, command: Command, term: Term): string {
  const { bold, cyan, dim } = term.color;
  const flags = flagsOf(command);
  const slots = command.positionals ?? [];
  const places = slots.map(({ key, many }) => {
    const flag = flags.find((f) => f.key === key);
    const word = `${flag?.placeholder || key.toUpperCase()}${many ? " …" : ""}`;
    return flag?.required ? word : `[${word}]`;
  });
  const required = flags.filter((f) => f.required && !slots.some((slot) => slot.key === f.key));
  const needed = required.map((f) => `--${f.name} ${f.placeholder}`.trim());
  const usage = ["viv", name, ...places, ...needed, "[flags]"].join(" ");
  const lines = [`${bold(`viv ${name}`)}: ${command.op.summary}`, "", `  ${usage}`, ""];
  if (flags.length > 0) lines.push(bold("Flags"), ...flags.map((f) => flagLine(f, term)), "");
  lines.push(
    bold("Everywhere"),
    ...GLOBAL_FLAGS.map((f) => flagLine(f, term)),
    "",
    bold("Examples"),
  );
  for (const [example, what] of command.examples) {
    lines.push(...(what ? [`  ${dim(`# ${what}`)}`] : []), `  ${cyan(example)}`);
  }
  return lines.join("\n");
}

function flagLine(flag: Flag, term: Term): string {
  const short = flag.short ? `-${flag.short}, ` : "";
  const left = `  ${short}--${flag.name} ${flag.placeholder}`.trimEnd();
  const choices =
    flag.choices && !flag.describe.includes(flag.choices[0] ?? "")
      ? ` (${flag.choices.join(", ")})`
      : "";
  const text = `${flag.describe}${choices}`;
  const indent = 28;
  if (left.length >= indent - 1) return `${left}\n${" ".repeat(indent)}${term.color.dim(text)}`;
  return `${left.padEnd(indent)}${term.color.dim(text)}`;
}
