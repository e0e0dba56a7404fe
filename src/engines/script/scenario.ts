import * as z from "zod/mini";
import { parseDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";

/**
 * The behaviour of a scripted model, for demos and tests without a key: a list of cases. The first that
 * fits the task is played. Its `run` and `write` steps are real.
 *
 *   [[case]]
 *   when = { type = "classify", attempt = 2, model = "small", prompt = "refund|invoice" }
 *   step = [
 *     { think = "…" }, { say = "…", delay = "200ms" },
 *     { run = "npm test", usage = { input = 1200, output = 80, usd = 0.004 } },
 *     { write = "notes.md", text = "…" },
 *   ]
 *   end = { outcome = "done", text = "…" }
 */
const amount = z.number().check(z.gte(0));
const text = z.optional(z.string());

const usage = z.strictObject({
  input: z._default(amount, 0),
  output: z._default(amount, 0),
  cache_read: z._default(amount, 0),
  cache_write: z._default(amount, 0),
  usd: z.optional(amount),
});

const step = z.strictObject({
  say: text,
  think: text,
  /** A command, in the workspace. After a failure the play continues. */
  run: text,
  write: text,
  text,
  delay: text,
  usage: z.optional(usage),
});

const OUTCOMES = [
  ...(["done", "failed", "rate_limited", "unauthorized", "quota"] as const),
  ...(["turn_limit", "refused", "session_lost", "crash", "silence"] as const),
] as const;

const ending = z.strictObject({
  outcome: z._default(z.enum(OUTCOMES), "done"),
  text,
  /** A command that prints the answer. */
  text_from: text,
  /** Of a rate limit: its length from now on. */
  until: text,
});

const oneCase = z.strictObject({
  when: z.optional(
    z.strictObject({
      type: text,
      attempt: z.optional(z.number()),
      model: text,
      /** A regular expression. */
      prompt: text,
    }),
  ),
  step: z._default(z.array(step), []),
  end: z.optional(ending),
});

const scenario = z.strictObject({ case: z.array(oneCase).check(z.minLength(1)) });

export type Case = z.output<typeof oneCase>;
export type ScriptStep = z.output<typeof step>;
export type ScriptUsage = z.output<typeof usage>;

/** Throws INVALID with the first mistake and its place. */
export async function parseScenario(source: string, file: string): Promise<Case[]> {
  const { parse, TomlError } = await import("smol-toml");
  let values: unknown;
  try {
    values = parse(source);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new VivError("INVALID", `${file}:${error.line}: ${error.message.split("\n")[0]}`);
  }
  const parsed = z.safeParse(scenario, values);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = (issue?.path ?? []).map(String).join(".");
    throw new VivError("INVALID", `${file}: ${where}: ${issue?.message ?? "it cannot be read"}`);
  }
  for (const one of parsed.data.case) check(one, file);
  return parsed.data.case;
}

function check({ when, step: steps, end }: Case, file: string): void {
  for (const { delay } of steps) if (delay !== undefined) parseDuration(delay, "delay");
  if (end?.until !== undefined) parseDuration(end.until, "until");
  try {
    new RegExp(when?.prompt ?? "");
  } catch {
    throw new VivError("INVALID", `${file}: when.prompt is no regular expression: ${when?.prompt}`);
  }
  const empty = steps.find((one) => !(one.say ?? one.think ?? one.run ?? one.write ?? one.usage));
  if (empty) throw new VivError("INVALID", `${file}: a step needs say, think, run, write or usage`);
}

export function pickCase(
  cases: readonly Case[],
  at: { type: string; attempt: number; model: string | null; prompt: string },
): Case | undefined {
  return cases.find(
    ({ when }) =>
      (when?.type === undefined || when.type === at.type) &&
      (when?.attempt === undefined || when.attempt === at.attempt) &&
      (when?.model === undefined || when.model === at.model) &&
      (when?.prompt === undefined || new RegExp(when.prompt, "u").test(at.prompt)),
  );
}
