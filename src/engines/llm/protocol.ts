import { z } from "zod";
import type { ModelUsage } from "../costs/usage.ts";
import type { EngineOutcome, Step } from "../engine.ts";

/** What the program reads from stdin: one JSON object. */
export type LlmRequest = z.infer<typeof llmRequest>;

const count = z.number().int().positive();

export const llmRequest = z.object({
  prompt: z.string().min(1),
  /** Absolute: the workspace, which the tools do not leave. */
  cwd: z.string().startsWith("/"),
  model: z.string().min(1),
  /** plan: no tool that could change anything. */
  mode: z.enum(["plan", "edit"]),
  turns: count.nullable(),
  api: z.enum(["anthropic", "openai"]),
  /** Null: where the vendor itself is. */
  url: z.url({ protocol: /^https?$/ }).nullable(),
  /** The name of the variable with the key, never the key. */
  keyEnv: z.string().min(1).nullable(),
  contextTokens: count.nullable(),
  /** Where conversations are kept; null: they are not. */
  sessionDir: z.string().startsWith("/").nullable(),
  resume: z.string().nullable(),
  /** By variable. Here and not in the environment, which every command that it runs could read. */
  keys: z.record(z.string(), z.string()).optional(),
  /** Pauses and limits, for tests and for slow machines. */
  limits: z
    .object({
      /** The first pause before a call is tried again; it doubles. */
      retryMs: z.number().nonnegative(),
      /** A rate limit that ends within this is waited for. */
      waitMs: z.number().nonnegative(),
      /** For a command that asks for no time of its own. */
      commandMs: count,
    })
    .partial()
    .optional(),
});

/** What is wrong with it, in one line. */
export function explainRequest(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
}

/**
 * What the program prints, one JSON object on each line: the session as soon as there is one, steps
 * as they happen, and at last the result. A line of another type is for a later reader.
 */
export type LlmEvent = SessionEvent | StepEvent | ResultEvent;

/** From here on a later attempt can go on with it. */
export interface SessionEvent {
  type: "session";
  session: string;
}

/** `usage`, where there is one, is what was used since the step before. */
export interface StepEvent extends Step {
  type: "step";
}

export interface ResultEvent {
  type: "result";
  outcome: EngineOutcome;
  text: string;
  session: string | null;
  /** Null when the API did not tell. */
  usage: ModelUsage[] | null;
  /** How often the model was asked. */
  steps: number;
}
