import type { ConfigTable } from "../base/config-table.ts";
import { parseDuration } from "../base/duration.ts";
import { shown } from "../base/shown.ts";

/** What a rule that found something does: tell it, or file a warrant. */
export const RULE_ACTIONS = ["observe", "file"] as const;
export type RuleAction = (typeof RULE_ACTIONS)[number];

interface Rule {
  action: RuleAction;
  /** Of the warrants that it files; else the warden's own. */
  patienceMs?: number;
}

/** What makes a suspect; a rule that is missing is not looked at. */
export interface Rules {
  /** Nothing new on its terminal, in its log or its transcript for so long. */
  no_output?: Rule & { afterMs: number };
  /** The worker's heartbeat is that old, and its process lives. */
  stale_heartbeat?: Rule & { afterMs: number };
  /** The same tool with the same target that often in a row. */
  repeated_tool?: Rule & { times: number };
  /** It spent more than it may. */
  over_budget?: Rule;
  /** Its task's deadline has passed that long ago. */
  past_deadline?: Rule & { afterMs: number };
}

export const RULE_NAMES = [
  "no_output",
  "stale_heartbeat",
  "repeated_tool",
  "over_budget",
  "past_deadline",
] as const satisfies readonly (keyof Rules)[];
export type RuleName = (typeof RULE_NAMES)[number];

type Timed = "no_output" | "stale_heartbeat" | "past_deadline";
const TIMED: readonly Timed[] = ["no_output", "stale_heartbeat", "past_deadline"];

/** `[warden.rules]`: each rule is its number alone, or a table with what it does. */
export function readRules(warden: ConfigTable): Rules {
  const table = warden.table("rules");
  if (table === undefined) {
    if (warden.has("rules")) warden.note(["rules"], "rules must be a table: [warden.rules]");
    return {};
  }
  table.refuseUnknown(RULE_NAMES, () => undefined);
  const rules: Rules = {};
  for (const name of TIMED) {
    const rule = readTimed(table, name);
    if (rule !== undefined) rules[name] = rule;
  }
  const repeated = readRepeated(table);
  if (repeated !== undefined) rules.repeated_tool = repeated;
  const budget = readBudgetRule(table);
  if (budget !== undefined) rules.over_budget = budget;
  return rules;
}

const COMMON = ["action", "patience"];

function readCommon(table: ConfigTable): Rule {
  const action = table.choice("action", RULE_ACTIONS) ?? "observe";
  const patienceMs = table.duration("patience");
  return { action, ...(patienceMs === undefined ? {} : { patienceMs }) };
}

function readTimed(rules: ConfigTable, name: Timed): Rules[Timed] {
  const inner = rules.table(name);
  if (inner === undefined) {
    const afterMs = durationAt(rules, name, name);
    return afterMs === undefined ? undefined : { afterMs, action: "observe" };
  }
  inner.refuseUnknown(["after", ...COMMON], () => undefined);
  const rule = readCommon(inner);
  const zero = name === "past_deadline" ? 0 : undefined;
  if (!inner.has("after") && zero === undefined) {
    rules.note([name], `${name} needs after, like { after = "10m", action = "file" }`);
  }
  const afterMs = inner.has("after") ? durationAt(inner, "after", name) : zero;
  return afterMs === undefined ? undefined : { afterMs, ...rule };
}

/** Zero is a time only after a deadline: everything is silent for no time at all. */
function durationAt(table: ConfigTable, key: string, rule: Timed): number | undefined {
  const value = table.get(key);
  if (value === undefined) return undefined;
  if (typeof value !== "string" && typeof value !== "number") {
    table.note(
      [key],
      `${key} must be a duration like "10m", or { after = "10m", action = "file" }`,
    );
    return undefined;
  }
  const ms = table.attempt(key, () => parseDuration(String(value), key));
  if (ms !== 0 || rule === "past_deadline") return ms;
  table.note([key], `${key} must be more than zero`);
  return undefined;
}

/** Once is no repetition. */
const FEWEST = 2;

function readRepeated(rules: ConfigTable): Rules["repeated_tool"] {
  const inner = rules.table("repeated_tool");
  inner?.refuseUnknown(["times", ...COMMON], () => undefined);
  const rule: Rule = inner ? readCommon(inner) : { action: "observe" };
  const [table, key] = inner ? [inner, "times"] : [rules, "repeated_tool"];
  const times = table.get(key);
  if (times === undefined) {
    if (inner) rules.note(["repeated_tool"], "repeated_tool needs times, like { times = 5 }");
    return undefined;
  }
  if (Number.isSafeInteger(times) && Number(times) >= FEWEST) {
    return { times: Number(times), ...rule };
  }
  table.note([key], `${key} must be a whole number, at least ${FEWEST}`);
  return undefined;
}

function readBudgetRule(rules: ConfigTable): Rules["over_budget"] {
  const value = rules.get("over_budget");
  if (value === undefined || value === false) return undefined;
  if (value === true) return { action: "observe" };
  const inner = rules.table("over_budget");
  if (inner === undefined) {
    const given = typeof value === "string" ? ` and not ${shown(value)}` : "";
    rules.note(["over_budget"], `over_budget must be true, false or { action = "file" }${given}`);
    return undefined;
  }
  inner.refuseUnknown(COMMON, () => undefined);
  return readCommon(inner);
}
