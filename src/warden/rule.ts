import type { ConfigTable } from "../base/config-table.ts";

/** What a rule does with a suspect: report it, or file a warrant. */
export const RULE_ACTIONS = ["observe", "file"] as const;
export type RuleAction = (typeof RULE_ACTIONS)[number];

interface Rule {
  action: RuleAction;
  /** For the warrants that it files; else the warden's own. */
  patienceMs?: number;
}

/** The rules that are set; each finds suspects of its own kind. */
export interface Rules {
  /** No new output on its terminal, in its log or its transcript for this long. */
  no_output?: Rule & { afterMs: number };
  /** The worker's heartbeat is this old, and its process lives. */
  stale_heartbeat?: Rule & { afterMs: number };
  /** The same tool with the same target this often in a row. */
  repeated_tool?: Rule & { times: number };
  /** It spent more than it may. */
  over_budget?: Rule;
  /** Its task's deadline passed this long ago. */
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

const EXAMPLES = { after: '{ after = "10m", action = "file" }', times: "{ times = 5 }" };

/** `[warden.rules]`: each rule is its number alone, or a table with that and its action. */
export function readRules(table: ConfigTable): Rules {
  const after = (name: RuleName, missing?: 0) => {
    // Zero is a time only after a deadline: everything is silent for no time at all.
    const duration = (where: ConfigTable, key: string) => where.duration(key, missing === 0);
    const found = readRule(table, name, "after", duration, missing);
    return found && { afterMs: found.value, ...found.rule };
  };
  const repeated = readRule(table, "repeated_tool", "times", (where, key) =>
    where.whole(key, Number.POSITIVE_INFINITY, 2),
  );
  const budget = table.table("over_budget");
  const isOn = budget ?? table.flag("over_budget", 'true, false or { action = "file" }');
  const rules = {
    no_output: after("no_output"),
    stale_heartbeat: after("stale_heartbeat"),
    repeated_tool: repeated && { times: repeated.value, ...repeated.rule },
    over_budget: isOn ? readAction(budget) : undefined,
    past_deadline: after("past_deadline", 0),
  };
  table.refuseOthers();
  // Only those that are set: without any, there is nothing to look at.
  return Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule)) as Rules;
}

function readRule(
  rules: ConfigTable,
  name: RuleName,
  key: keyof typeof EXAMPLES,
  read: (table: ConfigTable, key: string) => number | undefined,
  missing?: number,
): { value: number; rule: Rule } | undefined {
  const table = rules.table(name);
  let value = table ? read(table, key) : read(rules, name);
  if (table && !table.has(key)) {
    value = missing;
    if (missing === undefined) rules.note([name], `${name} needs ${key}, like ${EXAMPLES[key]}`);
  }
  const rule = readAction(table);
  return value === undefined ? undefined : { value, rule };
}

function readAction(table: ConfigTable | undefined): Rule {
  const action = table?.choice("action", RULE_ACTIONS) ?? "observe";
  const rule = { action, patienceMs: table?.duration("patience") };
  table?.refuseOthers();
  return rule;
}
