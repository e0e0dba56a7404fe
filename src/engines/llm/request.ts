import { z } from "zod";

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
