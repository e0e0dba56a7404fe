/** Types of server.mjs, which is plain JavaScript so that it runs by itself. */

export interface Tokens {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  thought: number;
}

export interface ModelRequest {
  n: number;
  at: string;
  mode: string;
  method: string;
  path: string;
  /** null: asked for something besides answers (a list of models, a count of tokens). */
  protocol: "anthropic" | "responses" | "chat" | "gemini" | null;
  model?: string | null;
  /** Their names. */
  tools?: string[];
  /** The last prompt. */
  prompt?: string;
  /** All that was said since the model's last answer. */
  fresh?: string;
  /** Tool results since the last prompt. */
  results?: number;
  /** What was decided: see decide() of server/modes.mjs. */
  next?: {
    text?: string;
    shell?: string;
    file?: string;
    refuse?: number;
    hang?: true;
    trouble?: "reset" | "stall" | "truncated";
  };
  /** What the answer told; null when there was no whole answer. */
  used?: Tokens | null;
  /** The whole request, with `bodies`. */
  body?: unknown;
  /** The request had an unknown mode, or was no JSON. */
  error?: string;
}

export interface ModelServer {
  readonly port: number;
  /** Where a mode is: the base address of Anthropic's and Google's protocols; OpenAI's add /v1. */
  url(mode?: string): string;
  /** From now on the model at this address does what another mode says. */
  become(address: string, mode: string): void;
  requests(mode?: string): ModelRequest[];
  /** Those with tools: not a title, a summary or a choice of model that a program asks beside. */
  work(mode: string): ModelRequest[];
  /** The tokens of all whole answers in its work(). */
  told(mode: string): Tokens;
  stop(): Promise<void>;
}

export function start(options?: {
  port?: number;
  log?: string | null;
  bodies?: boolean;
}): Promise<ModelServer>;
