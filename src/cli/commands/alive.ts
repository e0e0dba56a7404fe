import { alive } from "../../ops/warden/care.ts";
import type { Command } from "../command.ts";

export const command: Command = {
  op: alive,
  placeholders: { state: "DIR" },
  positionals: [{ key: "nonce" }],
  examples: [["viv alive k3x9-Qz7w", "the nonce that the question has"]],
  human: ({ nonce }: { nonce: string }) => `ALIVE ${nonce}`,
};
