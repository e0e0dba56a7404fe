import type { ModelUsage, Tokens } from "../costs/usage.ts";
import { asObject, type JsonObject, numberAt, objectAt } from "./json-line.ts";
import { modelName, UNNAMED_MODEL, UsageSum } from "./usage-sum.ts";

/** The tokens of one message; null when it tells none. */
export function messageTokens(usage: JsonObject | null): Tokens | null {
  if (usage === null) return null;
  return {
    input: numberAt(usage, "input_tokens") ?? 0,
    output: numberAt(usage, "output_tokens") ?? 0,
    cacheRead: numberAt(usage, "cache_read_input_tokens") ?? 0,
    cacheWrite: numberAt(usage, "cache_creation_input_tokens") ?? 0,
  };
}

/** What the models have used since the result before it; null from a version that does not tell. */
export function runUsage(result: JsonObject): ModelUsage[] | null {
  const byModel = objectAt(result, "model_usage_since_last_result");
  return byModel && modelsIn(byModel, UNNAMED_MODEL);
}

export function addUsage(before: ModelUsage[] | null, more: readonly ModelUsage[]): ModelUsage[] {
  const sum = new UsageSum();
  for (const usage of [...(before ?? []), ...more]) sum.add(usage);
  return sum.get() ?? [];
}

function modelsIn(byModel: JsonObject, model: string): ModelUsage[] {
  return Object.entries(byModel).flatMap(([name, value]) => {
    const usage = asObject(value);
    return usage === null ? [] : [modelUsage(modelName(name) ?? model, usage)];
  });
}

/**
 * What the last event says about the whole run. `modelUsage` has the subagents in it, the event's
 * own `usage` has not; and the dollars of the models must come to `total_cost_usd` at least.
 */
export function claudeUsage(result: JsonObject, model: string): ModelUsage[] | null {
  const total = numberAt(result, "total_cost_usd");
  const used = modelsIn(objectAt(result, "modelUsage") ?? {}, model);
  if (used.length > 0) return total === null ? used : withTotal(used, total);
  const tokens = messageTokens(objectAt(result, "usage"));
  return tokens === null ? null : [{ model, ...tokens, usd: total }];
}

function modelUsage(model: string, usage: JsonObject): ModelUsage {
  return {
    model,
    input: numberAt(usage, "inputTokens") ?? 0,
    output: numberAt(usage, "outputTokens") ?? 0,
    cacheRead: numberAt(usage, "cacheReadInputTokens") ?? 0,
    cacheWrite: numberAt(usage, "cacheCreationInputTokens") ?? 0,
    usd: numberAt(usage, "costUSD"),
  };
}

/** What the models do not account for goes to the dearest of them; a total of less takes nothing away. */
function withTotal(used: ModelUsage[], total: number): ModelUsage[] {
  const sum = used.reduce((dollars, { usd }) => dollars + (usd ?? 0), 0);
  if (total <= sum) return used;
  const dearest = used.reduce((a, b) => ((b.usd ?? 0) > (a.usd ?? 0) ? b : a));
  return used.map((usage) =>
    usage === dearest
      ? { ...usage, usd: (usage.usd ?? 0) + total - sum }
      : { ...usage, usd: usage.usd ?? 0 },
  );
}
