import { PRIORITIES } from "../../base/priority.ts";
import { type Entry, workerOf } from "./entry.ts";

export type Matches = (entry: Entry) => boolean;

/** Longer ones are no filter that a person has typed. */
const MOST_WORDS = 32;

const IS: Record<string, Matches> = {
  choked: (entry) => entry.isChoked,
  proven: (entry) => entry.proof === "passed",
  unproven: ({ column, proof }) => (column === "done" || column === "review") && proof !== "passed",
  landed: (entry) => entry.landing === "landed",
  cancelled: (entry) => entry.isCancelled,
};

const KEYS: Record<string, (value: string) => Matches> = {
  type: (value) => (entry) => (entry.type ?? "").toLowerCase() === value,
  worker: (value) => (entry) => (workerOf(entry) ?? "").toLowerCase() === value,
  priority: (value) => (entry) => PRIORITIES[entry.priority] === value,
  id: (value) => (entry) => entry.id.toLowerCase().startsWith(value),
  // An unknown word matches nothing, as an unknown type does.
  is: (value) => IS[value] ?? (() => false),
};

/** Null for a filter that lets everything through. A task must match each word. */
export function parseFilter(filter: string): Matches | null {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  const all = words.map(matchesWord);
  if (all.length === 0) return null;
  return (entry) => all.every((matches) => matches(entry));
}

/** Filters that are the same have the same key. */
export function filterKey(filter: string): string {
  return filter.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS).join(" ");
}

function matchesWord(word: string): Matches {
  if (word.length > 1 && word.startsWith("-")) {
    const matches = matchesWord(word.slice(1));
    return (entry) => !matches(entry);
  }
  const at = word.indexOf(":");
  const key = KEYS[word.slice(0, Math.max(0, at))];
  if (key === undefined) return (entry) => inText(entry, word);
  const any = word
    .slice(at + 1)
    .split(",")
    .filter(Boolean)
    .map(key);
  return (entry) => any.some((matches) => matches(entry));
}

function inText({ id, title }: Entry, word: string): boolean {
  return id.toLowerCase().includes(word) || title.toLowerCase().includes(word);
}
