import { encodeType } from "./lanes.ts";

/** The tasks that a claimer takes: of any type, only of these, or of any but those. */
export type TypeFilter =
  | { kind: "any" }
  | { kind: "only"; types: readonly string[] }
  | { kind: "except"; types: readonly string[] };

export const ANY: TypeFilter = { kind: "any" };

/** No types means any but the reserved ones; if `exceptTypes` leaves none of `types`, none. */
export function filterOf(
  request: { types?: readonly string[]; exceptTypes?: readonly string[] },
  reserved: readonly string[] = [],
): TypeFilter {
  const { types } = request;
  const isAny = types === undefined || types.length === 0;
  const except = isAny ? [...(request.exceptTypes ?? []), ...reserved] : request.exceptTypes;
  if (except === undefined || except.length === 0) return isAny ? ANY : { kind: "only", types };
  if (isAny) return { kind: "except", types: except };
  return { kind: "only", types: types.filter((type) => !except.includes(type)) };
}

/** The same for the same types, in any order. */
export function keyOf(filter: TypeFilter): string {
  if (filter.kind === "any") return "all";
  const word = filter.kind === "only" ? "of" : "but";
  return `${word} ${[...filter.types].sort().join("\n")}`;
}

/** Does the one take all that the other takes? */
export function covers(one: TypeFilter, other: TypeFilter): boolean {
  if (one.kind === "any") return true;
  if (other.kind === "any") return false;
  if (one.kind === "only") {
    return other.kind === "only" && other.types.every((type) => one.types.includes(type));
  }
  // The other must leave out all types that the one leaves out.
  return one.types.every((type) => other.types.includes(type) === (other.kind === "except"));
}

/** The filter for lines of a lane; null takes them all. */
export interface Wanted {
  has(type: string): boolean;
  /** The wanted type, if there is only one. */
  only: string | null;
}

export function wantedBy(filter: TypeFilter): Wanted | null {
  if (filter.kind === "any") return null;
  const types = new Set(filter.types.map(encodeType));
  if (filter.kind === "except") return { has: (type) => !types.has(type), only: null };
  const only = types.size === 1 ? ([...types][0] as string) : null;
  return { has: (type) => types.has(type), only };
}
