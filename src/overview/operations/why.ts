import * as z from "zod/mini";
import { engineFor, routedEnginesSection } from "../../engines/config-engine.ts";
import { budgetSection } from "../../engines/costs/config-costs.ts";
import { Spending } from "../../engines/costs/spending.ts";
import { accountsInUse } from "../../engines/operations/accounts-in-use.ts";
import { gatePort } from "../../gate/operations/gate.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { anyState } from "../../queue/schemas.ts";
import { limitsSection } from "../../work/config-route.ts";
import { whyTask } from "../../work/why.ts";
import { REASON_CODES } from "../../work/why-reasons.ts";

export const why = defineRunOperation({
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
    const limit = context.here.config?.section(limitsSection).review;
    return whyTask(context.store, id, context.now(), {
      accountOf: of,
      budgetOf: await usedUpBudget(context),
      gateOf: await fullGate(context),
      ...(limit === undefined ? {} : { reviewLimit: limit }),
    });
  },
});

/** Looked at only where an engine is used. */
async function fullGate({ here, use }: RunContext) {
  const { config } = here;
  const routes = [...(config?.section(routedEnginesSection).values() ?? [])];
  const usesModels = routes.some(({ engine }) => engine);
  if (!config || !usesModels) return () => null;
  const { machine } = await use(gatePort);
  if (machine.room() !== 0) return () => null;
  const { max, holders, queue } = machine.view();
  if (max === null) return () => null; // it has just been lifted
  const full = { max, holders: holders.length, waiting: queue.length };
  return (type: string) => (engineFor(config, type) ? full : null);
}

/** The ledger is read only where a budget is set. */
async function usedUpBudget({ here, store, now }: RunContext) {
  const { config } = here;
  const budget = config?.section(budgetSection);
  if (!config || !budget || ![budget.run, budget.day].some(({ usd, tokens }) => usd ?? tokens))
    return () => null;
  const spending = new Spending(store, now);
  await spending.refresh();
  return (type: string) => (engineFor(config, type) ? spending.usedUp(budget, type) : null);
}
