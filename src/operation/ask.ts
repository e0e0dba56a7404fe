import { definePort } from "./operation.ts";

/** Asks the person at the terminal, and gives the line that they typed; null without a terminal. */
export type Ask = (question: string) => Promise<string | null>;

export const askPort = definePort<Ask>("ask");

interface Terminal {
  stdin: AsyncIterable<Uint8Array | string> & { isTTY?: boolean; destroy(): unknown };
  stderr: { write(text: string): unknown; isTTY?: boolean };
}

/** One line from a terminal. Ctrl-D, its end, and Ctrl-C, `signal`, are an empty line. */
export async function askOnTerminal(
  { stdin, stderr }: Terminal,
  question: string,
  signal: AbortSignal,
): Promise<string | null> {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  stderr.write(question);
  const stop = () => stdin.destroy();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  let line = "";
  try {
    for await (const piece of stdin) {
      line += piece.toString();
      if (line.includes("\n")) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  if (!line.includes("\n")) stderr.write("\n");
  return signal.aborted ? "" : (line.split(/\r?\n/)[0] ?? "");
}
