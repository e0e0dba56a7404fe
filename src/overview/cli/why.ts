import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { paintState } from "../../queue/cli/paint.ts";
import { why } from "../operations/why.ts";

interface Output {
  id: string;
  state: string;
  reasons: { code: string; text: string; command?: string }[];
}

export const command: Command = {
  op: why,
  positionals: [{ key: "id" }],
  examples: [["viv why t.1", "every reason in order, each with the command that would change it"]],
  human: (output: Output, term) => {
    const { color } = term;
    const lines = [`${color.bold(output.id)} is ${paintState(output.state, term)}`];
    output.reasons.forEach((reason, i) => {
      lines.push(`  ${i + 1}. ${plain(reason.text)}`);
      if (reason.command) lines.push(`     ${color.cyan(plain(reason.command))}`);
    });
    if (output.reasons.length === 0)
      lines.push("  nothing holds it back; it will move in a moment");
    return lines.join("\n");
  },
};
