import { isBlank, trimmed } from "./line.ts";

/** `** TODO [#A] a title   :tag:other:`, taken apart. */
export interface Headline {
  level: number;
  /** One of the file's own words, or null. */
  todo: string | null;
  /** Where the word stands or, if there is none, where it would. */
  todoFrom: number;
  todoTo: number;
  priority: string | null;
  title: string;
  tags: string[];
}

const TAGS = /^:(?:[\p{L}\p{N}_@#%]+:)+$/u;

/** The number of stars, or 0 for a line that is no heading. */
export function starsAt(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && text[at] === "*") at++;
  return at < to && text[at] === " " ? at - from : 0;
}

/** Reads the heading between two offsets; `isTodo` knows the file's words. */
export function headlineAt(
  text: string,
  from: number,
  to: number,
  isTodo: (word: string) => boolean,
): Headline {
  const level = starsAt(text, from, to);
  let [at, end] = trimmed(text, from + level, to);
  let wordEnd = at;
  while (wordEnd < end && !isBlank(text[wordEnd])) wordEnd++;
  const word = text.slice(at, wordEnd);
  const todo = isTodo(word) ? word : null;
  const todoFrom = at;
  const todoTo = todo === null ? at : wordEnd;
  if (todo !== null) [at] = trimmed(text, wordEnd, end);
  const priority = /^\[#([A-Za-z]|\d{1,2})\]/.exec(text.slice(at, Math.min(at + 5, end)));
  if (priority !== null) [at] = trimmed(text, at + priority[0].length, end);
  let tags: string[] = [];
  if (text[end - 1] === ":") {
    let tagsFrom = end;
    while (tagsFrom > at && !isBlank(text[tagsFrom - 1])) tagsFrom--;
    const written = text.slice(tagsFrom, end);
    if (TAGS.test(written)) {
      tags = written.slice(1, -1).split(":");
      [at, end] = trimmed(text, at, tagsFrom);
    }
  }
  const title = text.slice(at, end);
  return { level, todo, todoFrom, todoTo, priority: priority?.[1] ?? null, title, tags };
}
