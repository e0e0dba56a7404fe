import type { Command } from "../../operation/command.ts";
import { alive } from "../operations/care.ts";

export const command: Command = {
  op: alive,
  placeholders: { state: "DIR" },
  positionals: [{ key: "nonce" }],
  examples: [
    ["viv alive", "answers whatever this process, or one of its ancestors, is asked"],
    ["viv alive k3x9-Qz7w", "the nonce that the question has"],
  ],
  human: ({ nonces }: { nonces: string[] }, { color }) =>
    nonces.map((nonce) => `ALIVE ${nonce}`).join("\n") || color.dim("nobody asks this process"),
};
