import { VivError } from "../base/errors.ts";
import { isListedName, isName, MAX_NAME_LENGTH } from "../base/names.ts";
import { shown } from "../base/text.ts";

/**
 * File names of a pit. A food's name is its task's id; the folder, and what stands around the id,
 * give its state and worker (SPEC.md §17).
 */

const SLUG_LENGTH = 40;
/** Letters that Unicode does not take apart into a base and a mark. */
const FOLDED = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l", ı: "i" };

/** 7 for `food-0007-x`, `food-7-x` and `food-7`. */
export function numberOf(id: string): number | null {
  // At most 15 digits: those are exact, and one absurd name does not use up all numbers.
  const digits = /^food-0*(\d{1,15})(?:-|$)/.exec(id)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The foods that share a number with another one. */
export function foodsByNumber(ids: Iterable<string>): { number: number; foods: string[] }[] {
  const found = new Map<number, string[]>();
  for (const id of ids) {
    const number = numberOf(id);
    if (number !== null) found.set(number, [...(found.get(number) ?? []), id]);
  }
  return [...found]
    .filter(([, foods]) => foods.length > 1)
    .map(([number, foods]) => ({ number, foods: foods.sort() }));
}

export function slugOf(text: string): string {
  const words = text
    .slice(0, 2000)
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[\p{M}'’]/gu, "")
    .replace(/[ßæœøđłı]/g, (letter) => FOLDED[letter as keyof typeof FOLDED])
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  let slug = (words[0] ?? "food").slice(0, SLUG_LENGTH);
  for (const word of words.slice(1)) {
    if (slug.length + 1 + word.length > SLUG_LENGTH) break;
    slug += `-${word}`;
  }
  return slug;
}

export function foodId(number: number, slug: string): string {
  if (!Number.isSafeInteger(number) || number < 0) {
    throw new VivError("INVALID", `a food's number must be 0 or more and whole, not ${number}.`);
  }
  const head = `food-${String(number).padStart(4, "0")}`;
  const tail = slug.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, MAX_NAME_LENGTH - head.length - 1);
  return tail === "" ? head : `${head}-${tail}`;
}

/** The parts of a name in claimed/: at the first `.food-`, else at the first dot. */
export function splitClaimName(name: string): { worker: string; id: string } | null {
  const stem = stemOf(name);
  if (stem === null) return null;
  const food = stem.indexOf(".food-");
  const dot = food === -1 ? stem.indexOf(".") : food;
  if (dot < 1 || dot === stem.length - 1) return null;
  return { worker: stem.slice(0, dot), id: stem.slice(dot + 1) };
}

/** The id of a file in food/ or resting/, or null when it is no food. */
export function idOfFood(name: string): string | null {
  const stem = stemOf(name);
  return stem === null || isReadme(stem) ? null : stem;
}

/** The id of a food in done/, where results lie beside the food. */
export function idOfDone(name: string): string | null {
  const id = idOfFood(name);
  return id === null || resultOf(id) !== null || UNPROVEN.test(id) ? null : id;
}

export function resultName(id: string): string {
  return `${id}.result.md`;
}

export function resultIdOf(name: string): string | null {
  const stem = stemOf(name);
  return stem === null ? null : resultOf(stem);
}

export function unprovenName(id: string, n: number): string {
  return `${id}.unproven-${n}.md`;
}

/** N of `F.unproven-N.md`. */
export function unprovenNumberOf(name: string): number | null {
  const digits = UNPROVEN.exec(stemOf(name) ?? "")?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Why a task of this id cannot lie in a pit, and what to do; null when it can. */
export function whyNotFoodId(id: string): string | null {
  if (id.includes(".food-")) {
    return `${shown(id)} contains ".food-", where a claim's name is split; leave out the dot.`;
  }
  if (id.endsWith(".result") || UNPROVEN.test(id)) {
    return `${shown(id)} ends like the name of a result; give it another end.`;
  }
  return isReadme(id) ? `${shown(id)} is the name of the pit's own README; choose another.` : null;
}

/** A claim whose snake is not known has this name. */
export const NOBODY = "nobody";

/** Why this cannot be a snake's name, and what to do; null when it can. */
export function whyNotSnake(name: string): string | null {
  if (name.length > MAX_SNAKE_LENGTH) {
    return `${shown(name)} has ${name.length} characters; a snake's name has at most ${MAX_SNAKE_LENGTH}.`;
  }
  if (name.includes(".")) {
    return `${shown(name)} has a dot, which ends a snake's name in claimed/; write "-" instead.`;
  }
  if (isName(name)) return null;
  return `${shown(name)} cannot name a snake; use only letters, digits, "_" and "-".`;
}

/** With the name of the food behind it, it must fit into a file's name. */
const MAX_SNAKE_LENGTH = 64;
const UNPROVEN = /\.unproven-(\d{1,15})$/;

function resultOf(stem: string): string | null {
  return stem.endsWith(".result") && stem !== ".result" ? stem.slice(0, -".result".length) : null;
}

function isReadme(stem: string): boolean {
  return stem.toLowerCase() === "readme";
}

function stemOf(name: string): string | null {
  return isListedName(name) && name.endsWith(".md") && name !== ".md" ? name.slice(0, -3) : null;
}
