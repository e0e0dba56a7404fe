import { isTable, type KeyRead } from "../../base/config-table.ts";
import { lineOf, type Place, placesOf } from "../../base/toml-lines.ts";
import { ENGINE_KEYS } from "../../engines/config-engine.ts";
import { routesSection } from "../../work/config-route.ts";
import { parseConfig } from "../config.ts";
import { genericPath, isOfNames, knownKeys } from "./known-keys.ts";
import { wordsFor } from "./words.ts";

/** A setting, and what it came from. */
export interface Setting {
  /** As in the file: `handlers.fix.timeout`. */
  key: string;
  /** Null: there is none. */
  value: unknown;
  /** `FILE:LINE`, `default`, `--run`, or the name of a variable. */
  from: string;
}

/** Every setting of a viv.toml without mistakes: those in the file, and what counts for the others. */
export async function settingsIn(text: string, file: string): Promise<Setting[]> {
  const reads = new Map<string, KeyRead>();
  const config = await parseConfig(text, file, (read) => reads.set(read.path.join("\0"), read));
  const known = knownKeys();
  const isNamed = (path: string) => isOfNames(path, known.get(path));
  const routes = config.section(routesSection);
  const settings: Setting[] = [];
  const places = placesOf(text);
  for (const { path, value, line } of [...reads.values()].flatMap(withMembers(places))) {
    if (isTable(value) || (Array.isArray(value) && value.some(isTable))) continue;
    const key = path.join(".");
    if (value !== undefined) {
      settings.push({ key, value: hidden(path, value), from: `${file}:${line}` });
      continue;
    }
    const [table, name = "", last = ""] = path;
    const engine = table === "handlers" ? routes.get(name)?.engine : undefined;
    const inherited = reads.get(["engines", engine?.name ?? "", last].join("\0"));
    if (inherited?.value !== undefined) {
      const from = `${file}:${inherited.line}`;
      settings.push({ key, value: hidden(path, inherited.value), from });
      continue;
    }
    const isOfEngine = table === "handlers" && ENGINE_KEYS.includes(last) && last !== "engine";
    const [describe = "", byDefault] = wordsFor(genericPath(path, isNamed)) ?? [];
    const isOfOther = describe.startsWith("for llm:") && engine?.name !== "llm";
    // Those of [engines.NAME] are shown with the routes.
    if (byDefault === undefined || table === "engines") continue;
    if (isOfOther || (isOfEngine && !engine)) continue;
    settings.push({ key, value: byDefault, from: "default" });
  }
  return settings.sort((a, b) => order(a) - order(b));
}

type Seen = Pick<KeyRead, "path" | "value" | "line">;

/** Of a crew, its members too: the crew reads them. */
function withMembers(places: Place): (read: Seen) => Seen[] {
  return (read) => {
    const { path, value } = read;
    if (path.join(".") !== "crew" || !isTable(value)) return [read];
    const members = Object.entries(value).filter(([, member]) => isTable(member));
    return members.flatMap(([name, member]) =>
      Object.entries(member as Record<string, unknown>).map(([key, inner]) => {
        const at = [...path, name, key];
        return { path: at, value: inner, line: lineOf(places, at) };
      }),
    );
  };
}

/** Those of the file in its order, then the defaults. */
function order({ from }: Setting): number {
  return from === "default"
    ? Number.POSITIVE_INFINITY
    : Number(from.slice(from.lastIndexOf(":") + 1));
}

/** Names of keys whose values are secret; `key_env` names a variable only. */
const SECRET = /(?:token|secret|password|webhook|slack|telegram|ntfy|(?:^|_)key)$/i;

/** Without what could be a secret: values of variables, addresses with a key in them. */
export function hidden(path: readonly string[], value: unknown): unknown {
  const key = path.at(-1) ?? "";
  if (Array.isArray(value)) {
    return value.map((item) => (key === "env" ? withoutValue(String(item)) : hidden(path, item)));
  }
  if (typeof value !== "string") return value;
  if (SECRET.test(key)) return HIDDEN;
  return value
    .replace(/\/\/[^/@\s]+@/, `//${HIDDEN}@`)
    .replace(/([?&][^=&#\s]+=)[^&#\s]+/g, `$1${HIDDEN}`);
}

const HIDDEN = "(hidden)";

/** `NAME=VALUE`; a name alone is only passed on. */
function withoutValue(entry: string): string {
  return entry.replace(/=.*$/s, `=${HIDDEN}`);
}
