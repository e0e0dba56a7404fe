import type { Store } from "../ops/store-types.ts";

/** Everything the command line needs from its surroundings; tests bring their own. */
export interface Io {
  argv: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  stdout: Writer;
  stderr: Writer;
  stdin: AsyncIterable<Uint8Array | string>;
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  open(path: string, options: OpenRequest): Promise<Store>;
  /** `viv demo`, which needs more of the machine than a command should. */
  demo(args: readonly string[]): Promise<number>;
  now(): number;
}

export interface OpenRequest {
  create?: boolean;
  readOnly?: boolean;
  durability?: "safe" | "fast";
  onDependencyFailed?: "wait" | "fail";
}

export interface Writer {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}
