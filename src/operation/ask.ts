import { definePort } from "./operation.ts";

/** Asks the person at the terminal, and gives the line that they typed; null without a terminal. */
export type Ask = (question: string) => Promise<string | null>;

export const askPort = definePort<Ask>("ask");

interface Terminal {
  stdin: AsyncIterable<Uint8Array | string> & { isTTY?: boolean };
  stderr: { write(text: string): unknown; isTTY?: boolean };
}

/** One line from a terminal. Its end, Ctrl-D, is an empty line. */
export async function askOnTerminal(
  { stdin, stderr }: Terminal,
  question: string,
): Promise<string | null> {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  stderr.write(question);
  let line = "";
  for await (const piece of stdin) {
    line += piece.toString();
    if (line.includes("\n")) break;
  }
  return line.split(/\r?\n/)[0] ?? "";
}
