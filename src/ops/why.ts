import * as z from "zod/mini";
import { routeFor } from "../model/config.ts";
import { REASON_CODES } from "../policy/why.ts";
import { Spending } from "../services/spending.ts";
import { whyTask } from "../services/why.ts";
import { accountsInUse } from "./accounts-in-use.ts";
import { defineOp, type OpContext } from "./op.ts";
import { anyState } from "./schemas.ts";

export const why = defineOp({
  name: "why",
  summary: "why a task is not moving, and what would change that",
  access: "read",
  input: z.strictObject({ id: z.string().check(z.describe("the task")) }),
  output: z.object({
    id: z.string(),
    state: anyState,
    since: z.string(),
    reasons: z.array(
      z.object({ code: z.enum(REASON_CODES), text: z.string(), command: z.optional(z.string()) }),
    ),
  }),
  async run(context, { id }) {
    const { of } = await accountsInUse(context);
    const limit = context.here?.config?.limits.review;
    return whyTask(context.store, id, context.now(), {
      accountOf: of,
      budgetOf: await usedUpBudget(context),
      ...(limit === undefined ? {} : { reviewLimit: limit }),
    });
  },
});

/** The ledger is read only where a budget is set. */
async function usedUpBudget({ here, store, now }: OpContext) {
  const config = here?.config;
  const limits = config ? [config.budget.run, config.budget.day] : [];
  if (!config || !limits.some(({ usd, tokens }) => usd ?? tokens)) return () => null;
  const spending = new Spending(store, now);
  await spending.refresh();
  const over = spending.usedUp(config.budget);
  return (type: string) => (routeFor(config, type)?.engine && over ? over.text : null);
}
