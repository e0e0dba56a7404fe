import * as z from "zod/mini";
import type { Config } from "../base/section.ts";
import { alternatives } from "../base/text.ts";
import { accountsInUse } from "../engines/accounts/accounts.ts";
import { engineFor, routedEnginesSection } from "../engines/config-engine.ts";
import { budgetSection } from "../engines/costs/config-costs.ts";
import { gatePort } from "../gate/operations.ts";
import type { Command } from "../operation/command.ts";
import { definePort } from "../operation/operation.ts";
import { plain } from "../operation/term.ts";
import { paintState } from "../queue/cli/paint.ts";
import { defineRunOperation, type RunContext } from "../queue/operation.ts";
import { whyUnprovenNow } from "../work/asked-proof.ts";
import { hasWorkspaces, limitsSection, routeFor, routesSection } from "../work/config-route.ts";
import { workspaceUsePort } from "../work/host.ts";
import { type DownWorker, type Held, REASON_CODES, type RouteFact, whyTask } from "../work/why.ts";
import { taskHead, taskId } from "./operations.ts";

export const downWorkersPort =
  definePort<(run: string, config: Config | undefined) => Promise<DownWorker[]>>("down workers");

/** `viv why`, apart from the other commands: it alone looks at routes, budgets and the gate. */

export const why = defineRunOperation({
  name: "why",
  summary: "why a task is not moving, and the commands that would change it",
  access: "read",
  input: z.strictObject({ id: taskId }),
  output: z.object({
    ...taskHead,
    reasons: z.array(
      z.object({
        ...{ code: z.enum(REASON_CODES), text: z.string(), command: z.optional(z.string()) },
        log: z.optional(z.array(z.string())),
      }),
    ),
  }),
  async run(context, { id }) {
    const { store, here, use } = context;
    return whyTask(store, id, context.now(), {
      ...(await heldNow(context)),
      downWorkers: async () => (await use(downWorkersPort))(store.location, here.config),
      landingOf: async (view) => {
        const { landingOf } = await import("../merge/facts.ts");
        const fact = await landingOf(store, view);
        return fact && { code: fact.code, text: fact.text, command: fact.command };
      },
      unprovenOf: (view) => whyUnprovenNow(context, view),
    });
  },
});

/** What holds tasks of a type back now: read once, for one task or many. */
export async function heldNow(context: RunContext): Promise<Held> {
  const { of: accountOf } = await accountsInUse(context);
  return {
    accountOf,
    budgetOf: await usedUpBudget(context),
    gateOf: await fullGate(context),
    workspaceOf: await heldWorkspaces(context),
    reviewLimit: context.here.config?.section(limitsSection).review,
    routeOf: (type) => routeFact(context, type),
  };
}

function routeFact({ here: { config }, store }: RunContext, type: string): RouteFact {
  if (!config || config.section(routesSection).size === 0) return { kind: "none" };
  const route = routeFor(config, type);
  if (route === undefined) return { kind: "missing", file: config.file };
  return { kind: "routed", name: route.type, asked: store.reservedTypes.includes(type) };
}

/** The gate is read only where an engine is used. */
async function fullGate({ here: { config }, use }: RunContext) {
  const routes = [...(config?.section(routedEnginesSection).values() ?? [])];
  if (!config || !routes.some(({ engine }) => engine)) return () => null;
  const { machine } = await use(gatePort);
  if (machine.room() !== 0) return () => null;
  const { max, holders, queue } = machine.view();
  if (max === null) return () => null; // it was lifted meanwhile
  const full = { max, holders: holders.length, waiting: queue.length };
  return (type: string) => (engineFor(config, type) ? full : null);
}

/** The disk is looked at only where a route has workspaces. */
async function heldWorkspaces(context: RunContext) {
  if (!hasWorkspaces(context.here.config)) return undefined;
  const { heldBackIn } = await import("../work/held-back.ts");
  const held = heldBackIn(context.here.config, context.now, () => context.use(workspaceUsePort));
  await held?.refresh();
  return (type: string) => held?.of(type) ?? null;
}

/** The ledger is read only where a budget is set. */
async function usedUpBudget({ here: { config }, store, now }: RunContext) {
  const budget = config?.section(budgetSection);
  if (!config || !budget || ![budget.run, budget.day].some(({ usd, tokens }) => usd ?? tokens))
    return () => null;
  const { SharedBudget } = await import("../engines/costs/shared-budget.ts");
  const spending = new SharedBudget(store, now);
  await spending.refresh();
  return (type: string) => (engineFor(config, type) ? spending.usedUp(budget, type) : null);
}

const whyCommand: Command = {
  op: why,
  positionals: [{ key: "id" }],
  examples: [["viv why t.1", "every reason, each with the command that would change it"]],
  human: (output: z.output<typeof why.output>, term) => {
    const { color } = term;
    const lines = [`${color.bold(output.id)} is ${paintState(output.state, term)}`];
    output.reasons.forEach((reason, i) => {
      lines.push(`  ${i + 1}. ${plain(reason.text)}`);
      for (const line of reason.log ?? []) lines.push(`     ${color.dim(`│ ${plain(line)}`)}`);
      for (const one of reason.command ? alternatives(reason.command) : [])
        lines.push(`     ${color.cyan(plain(one))}`);
    });
    if (output.reasons.length === 0)
      lines.push("  nothing holds it back; it will move in a moment");
    return lines.join("\n");
  },
};

export const commands = { why: whyCommand };
