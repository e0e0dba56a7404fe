import type { Env } from "./operation.ts";

/** Everything the command line needs from its surroundings; tests bring their own. */
export interface Io {
  argv: readonly string[];
  env: Env;
  cwd: string;
  stdout: Writer;
  stderr: Writer;
  stdin: AsyncIterable<Uint8Array | string>;
  /** Calls back when stdin has no writer left; waiting for it keeps no process alive. */
  onStdinClosed(act: () => void): void;
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /** Aborted by the second of them, if the command asked to hear of it. */
  urgent: AbortSignal;
  hearUrgent(): void;
  now(): number;
  /** Counts where that file has mistakes, is empty, gone or not trusted. */
  goodConfig?: GoodConfig;
}

/** A viv.toml as it was when it last had no mistakes; an empty text: there was none. */
export interface GoodConfig {
  file: string;
  text: string;
}

export interface Writer {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}
