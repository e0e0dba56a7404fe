import * as z from "zod/mini";
import { parseDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";

/**
 * A scenario says what a scripted model does: a list of cases, of which the first that fits the task
 * is played. It is a stand-in for trying things out without a key; what its `run` and `write` steps
 * do is real.
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
const usage = z.strictObject({
  input: z._default(z.number().check(z.gte(0)), 0),
  output: z._default(z.number().check(z.gte(0)), 0),
  cache_read: z._default(z.number().check(z.gte(0)), 0),
  cache_write: z._default(z.number().check(z.gte(0)), 0),
  usd: z.optional(z.number().check(z.gte(0))),
});

const step = z.strictObject({
  say: z.optional(z.string()),
  think: z.optional(z.string()),
  /** A command, in the workspace. One that fails is told, and the play goes on. */
  run: z.optional(z.string()),
  write: z.optional(z.string()),
  text: z.optional(z.string()),
  delay: z.optional(z.string()),
  usage: z.optional(usage),
});

const OUTCOMES = [
  "done",
  "failed",
  "rate_limited",
  "unauthorized",
  "quota",
  "turn_limit",
  "refused",
  "session_lost",
  "crash",
  "silence",
] as const;

const ending = z.strictObject({
  outcome: z._default(z.enum(OUTCOMES), "done"),
  text: z.optional(z.string()),
  /** The answer is what this command prints. */
  text_from: z.optional(z.string()),
  /** Of a rate limit: when it is over, from now on. */
  until: z.optional(z.string()),
});

const oneCase = z.strictObject({
  when: z.optional(
    z.strictObject({
      type: z.optional(z.string()),
      attempt: z.optional(z.number()),
      model: z.optional(z.string()),
      /** A regular expression. */
      prompt: z.optional(z.string()),
    }),
  ),
  step: z._default(z.array(step), []),
  end: z.optional(ending),
});

const scenario = z.strictObject({ case: z.array(oneCase).check(z.minLength(1)) });

export type Case = z.output<typeof oneCase>;
export type ScriptStep = z.output<typeof step>;
export type ScriptUsage = z.output<typeof usage>;

/** Throws INVALID with the first mistake and where it is. */
export async function parseScenario(text: string, file: string): Promise<Case[]> {
  const { parse, TomlError } = await import("smol-toml");
  let values: unknown;
  try {
    values = parse(text);
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

export interface Situation {
  type: string;
  attempt: number;
  model: string | null;
  prompt: string;
}

export function pickCase(cases: readonly Case[], at: Situation): Case | undefined {
  return cases.find(
    ({ when }) =>
      (when?.type === undefined || when.type === at.type) &&
      (when?.attempt === undefined || when.attempt === at.attempt) &&
      (when?.model === undefined || when.model === at.model) &&
      (when?.prompt === undefined || new RegExp(when.prompt, "u").test(at.prompt)),
  );
}
