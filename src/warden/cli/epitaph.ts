import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { epitaph } from "../operations/warrants.ts";

export const command: Command = {
  op: epitaph,
  placeholders: { state: "DIR" },
  positionals: [{ key: "id" }],
  examples: [
    ["viv epitaph w1", "how it ended, as Markdown"],
    ["viv epitaph w1 --json | jq .exit", "the receipt"],
  ],
  human: ({ text }: { text: string }) => plain(text),
  json: ({ receipt }: { receipt: unknown }) => JSON.stringify(receipt),
};
