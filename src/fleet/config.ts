import type { ConfigTable } from "../base/config-table.ts";
import { isName } from "../base/names.ts";
import type { Section } from "../base/section.ts";

/** Workers of one kind: `[workers]`, or a group `[workers.NAME]`. */
export interface WorkerGroup {
  name: string;
  /** Processes. */
  count: number;
  /** Without it, every type with a route. */
  types?: string[];
  concurrency: number;
}

/** What `viv up` runs for a run, as far as no other section says it. */
export interface FleetSettings {
  /** Null: viv.toml has no `[workers]`. */
  workers: WorkerGroup[] | null;
  hasServer: boolean;
  hasPort: boolean;
  /**
   * All of a table, so that its change is seen. Not before all sections were read: a key that was asked
   * for counts as known.
   */
  written(key: "server" | "warden"): string | null;
}

/** Of the group without a name. */
const PLAIN = "worker";
const KEYS = ["count", "types", "concurrency"];
const MOST = 1000;

export const fleetSection: Section<FleetSettings> = (top) => ({
  workers: workersIn(top),
  hasServer: top.section("server").flag("enabled") ?? true,
  hasPort: top.section("server").has("port"),
  written: (key) => writtenIn(top.table(key)),
});

function workersIn(top: ConfigTable): WorkerGroup[] | null {
  if (!top.has("workers")) return null;
  const table = top.section("workers");
  const own = readGroup(table, PLAIN);
  const groups = table.keys.flatMap((name): WorkerGroup[] => {
    // Asking for a table would count as knowing the key: "cuont = 3" is refused below.
    const group = !KEYS.includes(name) && table.hasTable(name) ? table.table(name) : undefined;
    if (group === undefined) return [];
    if (!isName(name)) table.note([name], `${JSON.stringify(name)} cannot be part of a name`);
    else if (name === PLAIN)
      table.note([name], `"${PLAIN}" is the name of the workers of [workers]`);
    const read = readGroup(group, name);
    group.refuseOthers();
    return [read];
  });
  table.refuseOthers();
  const hasOwn = KEYS.some((key) => table.has(key));
  return hasOwn || groups.length === 0 ? [own, ...groups] : groups;
}

function readGroup(table: ConfigTable, name: string): WorkerGroup {
  return {
    name,
    count: table.whole("count", MOST, 0) ?? 1,
    types: table.texts("types", 'a list of task types, like ["audit"]'),
    concurrency: table.whole("concurrency", MOST) ?? 1,
  };
}

function writtenIn(table: ConfigTable | undefined): string | null {
  if (table === undefined) return null;
  return JSON.stringify(table.keys.map((key) => [key, table.get(key)]));
}
