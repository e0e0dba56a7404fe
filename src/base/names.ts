import { VivError } from "./errors.ts";

/**
 * Ids and worker names become file names, so they are checked before any path is built from them.
 * The pattern excludes separators, control characters and a leading dot (which hides files and
 * spells `..`).
 */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const TYPE = /^[A-Za-z0-9_-][A-Za-z0-9._:/@+-]*$/;
export const MAX_NAME_LENGTH = 128;

export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_NAME_LENGTH && NAME.test(value);
}

export function isTypeName(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_NAME_LENGTH && TYPE.test(value);
}

/**
 * For names that a folder listed: foreign workers and tasks may be called what we would refuse. A
 * listed name has no slash, so it cannot lead out of its folder.
 */
export function isListedName(value: unknown): value is string {
  return (
    typeof value === "string" && value !== "" && !value.startsWith(".") && !value.includes("/")
  );
}

type NameKind = "task id" | "worker name" | "run id" | "account";

export function assertName(kind: NameKind, value: unknown): string {
  if (isName(value)) return value;
  throw new VivError("INVALID", `${kind} ${describe(value)} ${reasonFor(value, "._-")}.`, {
    kind,
  });
}

/**
 * For a name that is being made. It becomes a file beside others, where a shell's `rm *` would pass
 * `-rf.json` as options. Names that exist are read and moved as they are.
 */
export function assertNewName(kind: NameKind, value: unknown): string {
  const name = assertName(kind, value);
  if (!name.startsWith("-")) return name;
  const why = "must not begin with a dash: a shell's * would pass it as an option";
  throw new VivError("INVALID", `${kind} ${describe(name)} ${why}.`, { kind });
}

/** An id in a command that is shown: one that begins with a dash would be read as options. */
export function idWord(id: string): string {
  return id.startsWith("-") ? `--id=${id}` : id;
}

export function assertTypeName(value: unknown): string {
  if (isTypeName(value)) return value;
  throw new VivError("INVALID", `task type ${describe(value)} ${reasonFor(value, "._:/@+-")}.`);
}

function describe(value: unknown): string {
  if (typeof value !== "string") return `(${value === null ? "null" : typeof value})`;
  const shown = value.length > 40 ? `${value.slice(0, 40)}…` : value;
  return JSON.stringify(shown);
}

function reasonFor(value: unknown, punctuation: string): string {
  if (typeof value !== "string") return "must be a string";
  if (value === "") return "is empty; give it at least one letter or digit";
  if (value.length > MAX_NAME_LENGTH) {
    return `has ${value.length} characters; at most ${MAX_NAME_LENGTH} are allowed`;
  }
  if (value.startsWith(".")) return "must not begin with a dot";
  return `may contain only letters, digits and ${punctuation.split("").join(" ")}`;
}

/**
 * The closest of `candidates` to `input`, or the only one that begins with it; undefined when nothing
 * is near enough to suggest.
 */
export function suggest(input: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = (input.length < 6 ? 1 : Math.max(2, Math.floor(input.length / 3))) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(input.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== undefined || input.length < 3) return best;
  const [only, ...others] = [...candidates].filter((one) => one.startsWith(input));
  return others.length === 0 ? only : undefined;
}

/** For a name that is not there: the one that was probably meant, or the first ten. */
export function nearest(name: string, names: readonly string[]): string {
  const meant = suggest(name.slice(0, 128), names);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  const list = `${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`;
  return list && `; there are: ${list}`;
}

/** Insertions, deletions, substitutions and swaps of neighbours, one each. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(at(i - 1, j - 1) + same, at(i - 1, j) + 1, at(i, j - 1) + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, at(i - 2, j - 2) + 1);
      (rows[i] as number[])[j] = best;
    }
  }
  return at(a.length, b.length);
}
