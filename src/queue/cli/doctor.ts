import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { doctor } from "../operations/doctor.ts";

interface Output {
  healthy: boolean;
  findings: { code: string; path: string; message: string; repair: string; fixed: boolean }[];
  checked: Record<string, number>;
}

/** One of them, several of them; states are the same either way. */
const WORDS: Record<string, [string, string]> = {
  workers: ["worker", "workers"],
  ledger: ["ledger line", "ledger lines"],
  temporaries: ["temporary file", "temporary files"],
};

export const command: Command = {
  op: doctor,
  accessFor: ({ fix }) => (fix ? "write" : "read"),
  examples: [
    ["viv doctor", "exit 1 when something is wrong"],
    ["viv doctor --fix", "repair it; nothing is deleted"],
  ],
  exit: ({ healthy }: Output) => (healthy ? 0 : 1),
  human: (output: Output, { color }) => {
    const looked = Object.entries(output.checked).map(
      ([what, n]) => `${n} ${WORDS[what]?.[n === 1 ? 0 : 1] ?? what}`,
    );
    const lines = output.findings.map(({ code, path, message, repair, fixed }) => {
      const mark = fixed
        ? color.green("fixed")
        : code === "torn_line"
          ? color.dim("noted")
          : color.red("found");
      return `${mark}  ${code}  ${plain(path)}\n       ${plain(message)}\n       ${color.dim(`${fixed ? "did" : "--fix would"}: ${plain(repair)}`)}`;
    });
    if (output.healthy && output.findings.every(({ fixed }) => !fixed))
      lines.push(color.green("healthy"));
    lines.push(color.dim(`looked at ${looked.length > 0 ? looked.join(", ") : "an empty run"}`));
    return lines.join("\n");
  },
};
