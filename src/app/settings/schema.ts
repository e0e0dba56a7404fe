import type { KeyRead } from "../../base/config-table.ts";
import { CREW_KEYS } from "../../crew/config.ts";
import { MEMBER_FIELDS } from "../../crew/member-definition.ts";
import { ENGINE_NAMES } from "../../engines/config-engine.ts";
import { isOfNames, type KnownKeys, knownKeys } from "./known-keys.ts";
import { wordsFor } from "./words.ts";

/** The part of JSON Schema (draft 7, and 4 for older editors) that is used here. */
export interface Schema {
  $schema?: string;
  title?: string;
  description?: string;
  default?: unknown;
  type?: string;
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  minItems?: number;
  items?: Schema;
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
}

/** The schema of viv.toml, for editors. It is made of what the sections read. */
export function configSchema(): Schema {
  const root = tableSchema("", knownKeys());
  return { $schema: "http://json-schema.org/draft-07/schema#", title: "viv.toml", ...root };
}

function tableSchema(path: string, keys: KnownKeys): Schema {
  const own = isOfNames(path, keys.get(path));
  const inner = [...keys.keys()].filter((key) => parentOf(key) === path);
  const properties = Object.fromEntries(
    inner.map((key) => [key.slice(path === "" ? 0 : path.length + 1), keySchema(key, keys)]),
  );
  if (path === "crew") return crewSchema(properties);
  if (path === "workers") return workersSchema(properties);
  if (!own) return { type: "object", properties, additionalProperties: false };
  const named = properties["*"] ?? {};
  if (path !== "engines") return { type: "object", additionalProperties: named };
  const each = Object.fromEntries(ENGINE_NAMES.map((name) => [name, named]));
  return { type: "object", properties: each, additionalProperties: false };
}

/** A crew only warns of keys that it does not know, and takes them in several spellings. */
function crewSchema(properties: Record<string, Schema>): Schema {
  const fields = MEMBER_FIELDS.map((name) => name.toLowerCase().replaceAll("-", "_"));
  const member = {
    ...described("crew.*"),
    type: "object",
    properties: Object.fromEntries(fields.map((name) => [name, described(`crew.*.${name}`)])),
  };
  const all = Object.fromEntries(CREW_KEYS.map((key) => [key, properties[key] ?? {}]));
  return { type: "object", properties: all, additionalProperties: member };
}

/** A group has the keys of the whole. */
function workersSchema(properties: Record<string, Schema>): Schema {
  const table = { type: "object", properties, additionalProperties: false };
  return { ...table, additionalProperties: { ...described("workers.*"), ...table } };
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(".")));
}

function keySchema(path: string, keys: KnownKeys): Schema {
  const reads = keys.get(path) ?? [];
  const items = [...keys.keys()].some((key) => parentOf(key) === `${path}.[]`);
  const forms = unique([
    ...(CHECKED_BY_READER[path] ?? []),
    ...(items ? [{ type: "array", items: tableSchema(`${path}.[]`, keys) }] : []),
    ...reads.flatMap((read) => formsOf(path, read, keys)),
  ]);
  const words = described(path);
  return forms.length === 1 ? { ...words, ...forms[0] } : { ...words, anyOf: forms };
}

function described(path: string): Schema {
  const [description, byDefault] = wordsFor(path) ?? [];
  const text = byDefault === undefined ? description : `${description} (default: ${byDefault})`;
  return text === undefined ? {} : { description: text };
}

const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };
const NUMBER = { type: "number", minimum: 0 };

/** Keys that a reader checks by itself. */
const CHECKED_BY_READER: Readonly<Record<string, readonly Schema[]>> = {
  "handlers.*.sandbox": [
    { enum: ["off", "write-workspace", "no-network"] },
    { type: "array", items: { enum: ["write-workspace", "no-network"] } },
  ],
  "warden.timeouts": [{ type: "array", minItems: 1, items: { anyOf: [TEXT, NUMBER] } }],
  "crew.stagger": [TEXT, NUMBER],
  "crew.grace": [TEXT, NUMBER],
  "crew.max_concurrent": [{ type: "integer", minimum: 1 }],
  "crew.state": [TEXT],
  "crew.port": [{ type: "integer", minimum: 0, maximum: 65_535 }],
  "crew.origins": [TEXT, TEXTS],
};

function formsOf(path: string, read: KeyRead, keys: KnownKeys): Schema[] {
  const { kind, choices, min, max = Number.POSITIVE_INFINITY } = read;
  switch (kind) {
    case "any":
      return [];
    case "text":
      return [TEXT];
    case "texts":
      return [choices === undefined ? TEXTS : { type: "array", items: { enum: choices } }];
    case "command":
      return [TEXT, { ...TEXTS, minItems: 1 }];
    case "flag":
      return [{ type: "boolean" }];
    case "choice":
      return [{ enum: choices }];
    case "whole":
      return [{ type: "integer", minimum: min, ...(Number.isFinite(max) ? { maximum: max } : {}) }];
    case "amount":
    case "price":
      return [NUMBER];
    case "duration":
    case "size":
      return [TEXT, NUMBER];
    case "table":
    case "tables":
      return [tableSchema(path, keys)];
  }
}

function unique(forms: readonly Schema[]): Schema[] {
  return [...new Map(forms.map((form) => [JSON.stringify(form), form])).values()];
}
