import type { ModelUsage } from "../costs/usage.ts";
import { asObject, type JsonObject, numberAt, objectAt, stringAt } from "./json-line.ts";
import { modelName } from "./json-line-usage.ts";

/** The tokens of a whole run, by model where this version of gemini tells them apart. */
export function geminiUsage(stats: JsonObject | null, model: string): ModelUsage[] | null {
  const byModel = Object.entries(objectAt(stats, "models") ?? {}).flatMap(([name, value]) => {
    const usage = tokens(asObject(value), modelName(name) ?? model);
    return usage === null ? [] : [usage];
  });
  if (byModel.length > 0) return byModel;
  const usage = tokens(stats, model);
  return usage === null ? null : [usage];
}

/** Of one answer, as the session file has it. */
export function messageUsage(message: JsonObject | null, model: string): ModelUsage | null {
  const used = objectAt(message, "tokens");
  const prompt = numberAt(used, "input");
  if (prompt === null) return null;
  const cacheRead = numberAt(used, "cached") ?? 0;
  const said = (numberAt(used, "output") ?? 0) + (numberAt(used, "thoughts") ?? 0);
  return {
    model: modelName(stringAt(message, "model")) ?? model,
    input: Math.max(0, prompt - cacheRead),
    output: Math.max(said, (numberAt(used, "total") ?? 0) - prompt),
    cacheRead,
    cacheWrite: 0,
    usd: null,
    prompt,
  };
}

/** `output_tokens` leaves out the thoughts, which cost as much; the total has them in. */
function tokens(stats: JsonObject | null, model: string): ModelUsage | null {
  const prompt = numberAt(stats, "input_tokens");
  const total = numberAt(stats, "total_tokens");
  if (prompt === null && total === null) return null;
  const cacheRead = numberAt(stats, "cached") ?? 0;
  const said = numberAt(stats, "output_tokens") ?? 0;
  return {
    model,
    input: Math.max(0, (prompt ?? 0) - cacheRead),
    output: Math.max(said, (total ?? 0) - (prompt ?? 0)),
    cacheRead,
    cacheWrite: 0,
    usd: null,
  };
}
