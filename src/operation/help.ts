import { type Catalog, type CatalogEntry, GROUPS } from "./catalog.ts";
import type { Command } from "./command.ts";
import { type Flag, flagsOf, GLOBAL_FLAGS } from "./flags.ts";
import type { Term } from "./term.ts";

const TRY: [string, string][] = [
  ["viv demo", "a whole fleet and its page, in a throw-away folder"],
  ["viv enqueue --run ./audit --type audit --id t.1", ""],
  ["viv claim --run ./audit --worker me", ""],
  ["viv complete --run ./audit --worker me t.1", ""],
];

const EXITS =
  "viv COMMAND --help explains a command. Exit statuses: 0 success, 1 the answer is no (doctor found something), 2 usage or bad input, 3 not found, 4 conflict (exists, wrong state, claim lost), 5 the run or the machine cannot do it now, 70 a bug, 130 interrupted at a question.";

/** How wide the column of names is. */
const NAMES = 14;

export function overview({ commands, families, others }: Catalog, term: Term): string {
  const { bold, cyan, dim } = term.color;
  const lines = [
    ...wrap("viv: a queue for fleets of agents in which the filesystem is the coordinator.", term),
    "",
    `  ${bold("viv")} COMMAND [--run DIR] [--json] …`,
  ];
  for (const [group, title] of Object.entries(GROUPS)) {
    lines.push("", bold(title));
    const single = commands.filter((entry) => entry.group === group && !entry.name.includes(" "));
    const several = Object.entries(families).filter(([, family]) => family.group === group);
    const all = [...single, ...several.map(([name, { summary }]) => ({ name, summary }))];
    for (const { name, summary } of all) {
      const [first = "", ...rest] = wrap(summary, term, NAMES).map((line) => line.trimStart());
      lines.push(`  ${cyan(name.padEnd(11))} ${first}`);
      lines.push(...rest.map((line) => " ".repeat(NAMES) + line));
    }
  }
  lines.push("", bold("More"));
  for (const { name, summary } of others) lines.push(`  ${cyan(name.padEnd(11))} ${summary}`);
  lines.push(
    "",
    bold("Try"),
    ...TRY.flatMap(([command, what]) => exampleLines(command, what, term)),
    "",
    ...wrap(EXITS, term).map(dim),
  );
  return lines.join("\n");
}

/** `viv pit`: what there is of that word. */
export function familyHelp(
  { families }: Catalog,
  word: string,
  family: readonly CatalogEntry[],
  term: Term,
): string {
  const { cyan } = term.color;
  const width = Math.max(...family.map(({ name }) => name.length)) + 6;
  return [
    ...wrap(`viv ${word}: ${families[word]?.summary ?? innerWords(word, family)}`, term),
    "",
    ...family.map(({ name, summary }) => `  ${cyan(`viv ${name}`.padEnd(width))} ${summary}`),
    "",
    ...wrap(`viv ${family[0]?.name ?? word} --help explains one of them.`, term),
  ].join("\n");
}

/** `viv dog pool` is a family in a family. */
function innerWords(word: string, family: readonly CatalogEntry[]): string {
  return family.map(({ name }) => name.slice(word.length + 1)).join(", ");
}

export async function helpFor(name: string, command: Command, term: Term): Promise<string> {
  const { bold } = term.color;
  const flags = await flagsOf(command);
  const slots = command.positionals ?? [];
  const places = slots.map((slot) => {
    const flag = flags.find(({ key }) => key === slot.key);
    const word = placeOf(slot, flag);
    return flag?.required || slot.needed ? word : `[${word}]`;
  });
  const required = flags.filter((f) => f.required && !slots.some((slot) => slot.key === f.key));
  const needed = required.map((f) => `--${f.name} ${f.placeholder}`.trim());
  const usage = ["viv", name, ...places, ...needed, "[flags]"].join(" ");
  const lines = [
    ...wrap(`viv ${name}: ${command.op.summary}`, term),
    "",
    ...wrapCommand(usage, term),
    "",
  ];
  const shown = flags.map((flag) => {
    const slot = slots.find(({ key }) => key === flag.key);
    return flagLine(flag, term, slot && placeOf(slot, flag));
  });
  if (flags.length > 0) lines.push(bold("Flags"), ...shown, "");
  lines.push(
    bold("Everywhere"),
    ...GLOBAL_FLAGS.map((f) => flagLine(f, term)),
    "",
    bold("Examples"),
  );
  for (const [example, what] of command.examples) lines.push(...exampleLines(example, what, term));
  return lines.join("\n");
}

function placeOf({ key, many }: { key: string; many?: boolean }, flag: Flag | undefined): string {
  return `${flag?.placeholder || key.toUpperCase()}${many ? " …" : ""}`;
}

/** Of a flag with a place in the usage line, that place is shown too, unless it is long. */
function flagLine(flag: Flag, term: Term, place?: string): string {
  const before = place ?? (flag.short ? `-${flag.short}` : "");
  const name = `--${flag.name} ${flag.placeholder}`.trimEnd();
  const isLong = place !== undefined && `${place}${name}`.length > 22;
  const left = `  ${before && !isLong ? `${before}, ` : ""}${name}`;
  const said = `${flag.describe} ${flag.placeholder}`;
  const isListed = flag.choices?.every((choice) => said.includes(choice)) ?? true;
  const choices = isListed ? "" : `: ${flag.choices?.join(", ")}`;
  const indent = 28;
  const text = wrap(`${flag.describe}${choices}`, term, indent).map((line) =>
    term.color.dim(line.trim()),
  );
  const pad = " ".repeat(indent);
  const rows =
    left.length >= indent - 1
      ? [left, ...text.map((t) => pad + t)]
      : [left.padEnd(indent) + (text[0] ?? ""), ...text.slice(1).map((t) => pad + t)];
  return rows.join("\n");
}

function exampleLines(command: string, what: string, term: Term): string[] {
  const { cyan, dim } = term.color;
  const comment = what ? wrap(`# ${what}`, term, 2).map(dim) : [];
  return [...comment, ...wrapCommand(command, term).map(cyan)];
}

/** Words in lines of the terminal's width. */
function wrap(text: string, term: Term, indent = 0): string[] {
  return fill(text.split(" "), term.width, " ".repeat(indent), "");
}

/** A command in lines that can be pasted as they are: broken between words, not within quotes. */
function wrapCommand(command: string, term: Term): string[] {
  const words = command.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [command];
  const [first = "", ...rest] = fill(words, term.width - 4, "  ", " \\");
  return [first, ...rest.map((line) => `  ${line}`)];
}

function fill(words: readonly string[], width: number, indent: string, joint: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of words) {
    const longer = line === indent ? line + word : `${line} ${word}`;
    if (longer.length > width && line !== indent) {
      lines.push(line + joint);
      line = indent + word;
    } else line = longer;
  }
  return [...lines, line];
}
