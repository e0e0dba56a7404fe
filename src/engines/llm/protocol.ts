import { z } from "zod";
import type { ModelUsage } from "../costs/usage.ts";
import type { EngineOutcome, Step } from "../engine.ts";

/** The request on stdin: one JSON object. */
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
  /** Null: the vendor's own. */
  url: z.url({ protocol: /^https?$/ }).nullable(),
  /** The name of the variable with the key, never the key. */
  keyEnv: z.string().min(1).nullable(),
  contextTokens: count.nullable(),
  /** The folder of conversations; null: they are not kept. */
  sessionDir: z.string().startsWith("/").nullable(),
  resume: z.string().nullable(),
  /** By variable. Here and not in the environment, which every command of the model could read. */
  keys: z.record(z.string(), z.string()).optional(),
  /** For tests and for slow machines. */
  limits: z
    .object({
      /** The first pause before a call is repeated; it doubles. */
      retryMs: z.number().nonnegative(),
      /** For a command without a time limit of its own. */
      commandMs: count,
    })
    .partial()
    .optional(),
});

/** The mistakes of a request, in one line. */
export function explainRequest(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
}

/**
 * The events on stdout, one JSON object on each line: the session as soon as there is one, steps as they
 * happen, and at last the result. Readers ignore other types.
 */
export type LlmEvent =
  /** From here on a later attempt can resume it. */
  { type: "session"; session: string } | ({ type: "step" } & Step) | ResultEvent;

export interface ResultEvent {
  type: "result";
  outcome: EngineOutcome;
  text: string;
  session: string | null;
  /** Null: the API did not report it. */
  usage: ModelUsage[] | null;
  /** Calls of the model. */
  steps: number;
}
