import type { Command } from "./command.ts";

export const GROUPS = {
  tasks: "Tasks",
  workers: "Workers",
  looking: "Looking",
  care: "Care",
} as const;
export type Group = keyof typeof GROUPS;

/** A command: its name, one line about it, and where it is. Loaded only when it is used. */
export interface CatalogEntry {
  name: string;
  summary: string;
  group: Group;
  load: () => Promise<Command>;
}

/** Every command of a program. */
export interface Catalog {
  commands: readonly CatalogEntry[];
  /** Commands of two words and more: what the first word is about. */
  families: Readonly<Record<string, { summary: string; group: Group }>>;
  /** Commands that are not renderings of an operation. */
  others: readonly { name: string; summary: string }[];
}

export function firstWord(name: string): string {
  return name.split(" ")[0] ?? name;
}

/** The words that commands begin with. */
export function firstWords({ commands, others }: Catalog): string[] {
  return [...new Set([...commands, ...others].map(({ name }) => firstWord(name)))];
}

/** The commands that begin with this word. */
export function familyOf({ commands }: Catalog, word: string): CatalogEntry[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `));
}

/** The command with the longest name that these words begin with, and what follows it. */
export function findCommand(
  { commands }: Catalog,
  words: readonly string[],
): { entry: CatalogEntry; rest: string[] } | null {
  for (let n = Math.min(3, words.length); n > 0; n--) {
    const name = words.slice(0, n).join(" ");
    const entry = commands.find((candidate) => candidate.name === name);
    if (entry) return { entry, rest: words.slice(n) };
  }
  return null;
}
