import { type ConfigTable, isTable } from "../../base/config-table.ts";
import { assertJson } from "../../base/json.ts";
import { assertTypeName } from "../../base/names.ts";
import type { Section } from "../../base/section.ts";
import { PRIORITIES, type Priority } from "../../queue/task.ts";
import { isTimezone, localTimezone, patternProblem } from "./cron.ts";

/** What a fire enqueues: one task, or those of a file. */
export type ScheduledTasks =
  | { kind: "task"; type: string; payload?: Record<string, unknown> }
  /** The path is as it is written. */
  | { kind: "file"; path: string };

/** One `[[schedule]]`. */
export interface Schedule {
  name: string;
  cron: string;
  timezone: string;
  tasks: ScheduledTasks;
  priority?: Priority;
  /** After a time without viv up: one fire, or none. */
  missed: "once" | "skip";
  /** False: no fire while tasks of the last one are unfinished. */
  overlap: boolean;
  enabled: boolean;
}

const A_NAME = "a name of letters, digits, - and _, at most 30";
const A_PATTERN = 'a cron pattern like "0 7 * * *" or "@daily"';
const A_ZONE = 'a time zone like "Europe/Berlin" or "UTC"';

/** The schedules, in the order of the file. */
export const scheduleSection = ((top): Schedule[] => {
  const names = new Set<string>();
  return top.items("schedule").flatMap((table): Schedule[] => {
    const schedule = readSchedule(table);
    table.refuseOthers();
    if (schedule === null) return [];
    if (names.has(schedule.name)) {
      const what = `name "${schedule.name}" is that of another [[schedule]]; give it its own`;
      table.note(["name"], what);
    }
    names.add(schedule.name);
    return [schedule];
  });
}) satisfies Section<unknown>;

function readSchedule(table: ConfigTable): Schedule | null {
  const name = table.text("name", A_NAME, (text) => /^[A-Za-z0-9_-]{1,30}$/.test(text));
  const timezone = table.text("timezone", A_ZONE, isTimezone) ?? localTimezone();
  const cron = readCron(table, timezone);
  const tasks = readTasks(table);
  const schedule = {
    priority: table.choice("priority", PRIORITIES),
    missed: table.choice("missed", ["once", "skip"]) ?? "once",
    overlap: table.flag("overlap") ?? true,
    enabled: table.flag("enabled") ?? true,
  };
  for (const key of ["name", "cron"]) {
    if (!table.has(key) && !table.isMisspelt(key)) table.note([], `[[schedule]] needs ${key}`);
  }
  if (name === undefined || cron === undefined || tasks === null) return null;
  return { name, cron, timezone, tasks, ...schedule };
}

function readCron(table: ConfigTable, timezone: string): string | undefined {
  const cron = table.text("cron", A_PATTERN);
  const problem = cron === undefined ? null : patternProblem(cron, timezone, Date.now());
  if (problem === null) return cron;
  table.note(["cron"], `cron ${JSON.stringify(cron)} cannot be used: ${problem}`);
  return undefined;
}

function readTasks(table: ConfigTable): ScheduledTasks | null {
  const type = table.text("type", "a type of task");
  const payload = readPayload(table);
  const jsonl = table.text("jsonl", "the path of a file with a task on each line");
  const chain = table.text("chain", "the path of a file with a task on each line");
  const path = jsonl ?? chain;
  if (type !== undefined) table.attempt("type", () => assertTypeName(type));
  const ways = ["type", "jsonl", "chain"].filter((key) => table.has(key));
  if (ways.length !== 1) {
    const isMisspelt = ["type", "jsonl", "chain"].some((key) => table.isMisspelt(key));
    if (!isMisspelt)
      table.note(ways.slice(1, 2), "[[schedule]] needs a type, or a jsonl; one of them");
    return null;
  }
  if (path === undefined) return type === undefined ? null : { kind: "task", type, payload };
  if (table.has("payload")) table.note(["payload"], "payload goes with type, not with a file");
  return { kind: "file", path };
}

function readPayload(table: ConfigTable): Record<string, unknown> | undefined {
  const payload = table.get("payload");
  if (payload === undefined) return undefined;
  if (isTable(payload)) {
    table.attempt("payload", () => assertJson(payload, "payload"));
    return payload;
  }
  table.note(["payload"], 'payload must be a table, like { site = "a" }');
  return undefined;
}
