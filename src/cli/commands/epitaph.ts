import { epitaph } from "../../ops/warden/warrants.ts";
import type { Command } from "../command.ts";
import { plain } from "../term.ts";

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
