import { dirname, extname, resolve } from "node:path";
import { checkoutAbove } from "../platform/git/git.ts";
import type { CrewPorts } from "./crew-ports.ts";
import type { Member } from "./manifest.ts";
import { instructionsOf } from "./prompt.ts";

type NoticePorts = Pick<CrewPorts, "isFolder" | "readText">;

interface Place {
  /** The manifest, or the singleton's def. */
  file: string;
  isSingleton: boolean;
}

/** What a reader of the start should know about the members of a manifest: a line each. */
export function noticesAbout(
  members: readonly Member[],
  place: Place,
  ports: NoticePorts,
): string[] {
  const folder = dirname(place.file);
  return [
    ...members.flatMap((member) => planOnly(member, place, folder, ports) ?? []),
    ...withoutHistory(members, folder, ports),
  ];
}

/**
 * Plan is the default mode, and a member in it is told to change nothing. One whose def tells it to
 * claim and commit would then never do any work, and never say why. The mode is not changed for it:
 * the right to edit is given by a person, in writing. A written plan is a decision, and stays unmentioned.
 */
function planOnly(
  member: Member,
  { file, isSingleton }: Place,
  folder: string,
  { readText }: NoticePorts,
): string | null {
  const { name, mode, isModeGiven, problem, line } = member;
  if (problem !== null || mode !== "plan" || isModeGiven) return null;
  const told = toldTo(instructionsOf({ folder, readText }, member));
  if (told === null) return null;
  const what = `runs in plan mode, the default, and is told to change nothing; but its def tells it to ${told}`;
  if (isSingleton) return `${name} ${what}. To let it: --mode edit (or WB_KEEPER_MODE=edit)`;
  const isToml = extname(file) === ".toml";
  const where = isToml
    ? `write into [crew.${name}]: mode = "edit"`
    : "write into its drawer: :MODE: edit";
  return `${file}:${line}: ${name} ${what}. To let it, ${where}`;
}

/** A noun (the last commit, a claim, the commit message) is no instruction. */
const NOUN_BEFORE =
  /\b(?:an?|the|this|that|each|every|any|one|per|last|latest|first|next|your|its|their|his|her|own|of)\s+$/i;
const NOUN_AFTER = /^\s+(?:messages?|logs?|hash(?:es)?|history|subjects?|prefix(?:es)?|ids?)\b/i;
const NEGATED = /\b(?:not|never|no|don['’]t|cannot|without|nothing|nor)\b[^.;:!?]*$/i;

/** Forms that are more often something else: "commits it" and "must be committed" are instructions. */
const VERBS: Record<string, (around: { before: string; after: string }) => boolean> = {
  s: ({ after }) => /^ (?:it|them|the|an?|its|to|each|first|before)\b/i.test(after),
  ed: ({ before }) => /\b(?:must|should|shall|to) be $/i.test(before),
  ted: ({ before }) => /\b(?:must|should|shall|to) be $/i.test(before),
};

/** Between list items and paragraphs. */
const BREAK = /\n\s*(?:[-+*]|\d+[.)])\s|\n[^\S\n]*\n/g;

/** The first thing that changes a repository and that a text tells its reader to do: commit, or claim. */
export function toldTo(text: string): "commit" | "claim" | null {
  const flat = text.replace(BREAK, ". ").replace(/\s+/g, " ");
  for (const match of flat.matchAll(/\b(commit|claim)(s|ted|ed)?\b/gi)) {
    const before = flat.slice(Math.max(0, match.index - 120), match.index);
    const after = flat.slice(match.index + match[0].length, match.index + 60);
    const [, word = "", end = ""] = match;
    const isVerb = VERBS[end.toLowerCase()]?.({ before, after }) ?? true;
    if (!isVerb || NOUN_BEFORE.test(before) || NOUN_AFTER.test(after) || NEGATED.test(before)) {
      continue;
    }
    return word.toLowerCase() as "commit" | "claim";
  }
  return null;
}

/**
 * A line for each working folder that is in no git repository. Its members run all the same: reading
 * harms nothing, and there are crews without a board. But changes there cannot be undone, and
 * `viv board` refuses such a folder.
 */
function withoutHistory(members: readonly Member[], folder: string, ports: NoticePorts): string[] {
  const found = new Map<string, string[]>();
  for (const { name, workdir, mode, problem } of members) {
    // The manifest's own folder is no choice of a member, unless it makes changes there.
    if (problem !== null || (workdir === null && mode === "plan")) continue;
    const place = resolve(folder, workdir ?? ".");
    if (ports.isFolder(place)) found.set(place, [...(found.get(place) ?? []), name]);
  }
  return [...found].flatMap(([place, names]) => {
    if (checkoutAbove(place) !== null) return [];
    const work = `${names.join(", ")} ${names.length === 1 ? "works" : "work"} in ${place}`;
    const effect = "changes there cannot be undone, and viv board does not work";
    return [`${work}, which is not in a git repository: ${effect}; to make it one: git init`];
  });
}
