import type { Command } from "../../operation/command.ts";
import { chooseCrew } from "../operations/choose.ts";
import { type KeeperUpInput, keeperUp } from "../operations/up.ts";
import { upWith } from "./up.ts";

export const command: Command = {
  op: keeperUp,
  placeholders: { state: "DIR", workdir: "DIR", lifecycle: "FILE", budget_usd_day: "USD" },
  positionals: [{ key: "def" }],
  examples: [
    ["viv keeper up desk.org", "one standing agent, once an hour, in plan mode"],
    ["viv keeper up desk.org --interval 15m --mode edit", "more often, and it may write"],
    [
      'viv keeper up desk.org --run-if "test -s inbox" --budget-usd-day 2',
      "only when there is work",
    ],
    ['viv keeper up desk.org --command "./desk.sh" --grace 0s', "any command instead of a model"],
  ],
  freeStream: (context, given, io, json) =>
    upWith(keeperUp, context, given, io, json, (input) =>
      chooseCrew(context, { kind: "keeper", ...(input as KeeperUpInput) }),
    ),
};
