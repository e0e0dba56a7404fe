import { isTable, type KeyRead, readTable } from "../../base/config-table.ts";
import { CREW_KEYS } from "../../crew/config.ts";
import { ENGINE_NAMES } from "../../engines/config-engine.ts";
import { readSections } from "../config.ts";

/**
 * By path: `handlers.*.timeout`. `*` stands for a name of the user's own, `[]` for the items of a list of
 * tables.
 */
export type KnownKeys = ReadonlyMap<string, readonly KeyRead[]>;

/**
 * Every key that the sections of viv.toml read, and how. It is found by reading: a document gets a value
 * for each key that was asked for, and is read again, until no reader asks for a new one. So no list
 * of keys can differ from what is read.
 */
export function knownKeys(): KnownKeys {
  const keys = new Map<string, KeyRead[]>();
  const documents: Document[] = [{}];
  for (let at = documents.pop(); at !== undefined; at = documents.pop()) {
    const document = at;
    const onRead = (read: KeyRead) => {
      const path = genericPath(read.path, (outer) => isOfNames(outer, keys.get(outer)));
      const known = keys.get(path) ?? [];
      if (known.some((one) => one.kind === read.kind)) return;
      keys.set(path, [...known, read]);
      for (const value of samplesOf(path, read)) {
        documents.push(withValue(document, read.path, value));
      }
    };
    readTable(document, readSections, { onRead });
  }
  return keys;
}

/** With `*` for the names in a table of names. */
export function genericPath(path: readonly string[], isNamed: (outer: string) => boolean): string {
  let generic = "";
  for (const key of path) {
    const name = isNamed(generic) ? "*" : /^\d+$/.test(key) ? "[]" : key;
    generic = generic === "" ? name : `${generic}.${name}`;
  }
  return generic;
}

/** Tables whose keys are the user's own, though they hold no tables. */
const NAMED_VALUES = ["handlers.*.tiers"];

/** Whether the names in this table are the user's own. */
export function isOfNames(path: string, reads: readonly KeyRead[] = []): boolean {
  return NAMED_VALUES.includes(path) || reads.some(({ kind }) => kind === "tables");
}

type Document = Record<string, unknown>;

/** Values that let a reader go on to the next key. */
function samplesOf(path: string, { kind, choices = [], min = 1 }: KeyRead): unknown[] {
  if (path === "engines")
    return kind === "tables" ? ENGINE_NAMES.map((name) => ({ [name]: {} })) : [];
  if (path === "crew") return [Object.fromEntries(CREW_KEYS.map((key) => [key, "1"]))];
  if (NAMED_VALUES.includes(path)) return [{ x: "x" }];
  switch (kind) {
    case "text":
    case "command":
      return ["x"];
    case "texts":
      return [[choices[0] ?? "x"]];
    case "flag":
      return [true];
    case "choice":
      return [...choices];
    case "whole":
    case "amount":
    case "price":
      return [min];
    case "duration":
    case "size":
      return ["1"];
    case "table":
      return [{}];
    case "tables":
      return [{ x: {} }];
    case "any":
      return [{}, [{}]]; // a reader may ask first whether it is there
  }
}

function withValue(
  document: unknown,
  [key = "", ...rest]: readonly string[],
  value: unknown,
): Document {
  // A value that is no table makes way for one.
  const isList = Array.isArray(document) && /^\d+$/.test(key);
  const copy = (isList ? [...document] : isTable(document) ? { ...document } : {}) as Document;
  copy[key] = rest.length === 0 ? value : withValue(copy[key], rest, value);
  return copy;
}
