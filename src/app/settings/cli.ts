import { relative } from "node:path";
import type * as z from "zod/mini";
import { counted } from "../../base/text.ts";
import type { Command } from "../../operation/command.ts";
import { plain, prose, table } from "../../operation/term.ts";
import { configCheck, configShow } from "./operations.ts";

type Checked = z.output<typeof configCheck.output>;
type Shown = z.output<typeof configShow.output>;

const checkCommand: Command = {
  op: configCheck,
  positionals: [{ key: "file" }],
  readsConfig: true,
  examples: [
    ["viv config check", "exits 1 if there is a mistake; warnings do not count"],
    ["viv config check agents.toml", "the agents of viv up"],
  ],
  exit: ({ valid }: Checked) => (valid ? 0 : 1),
  human: ({ file, valid, findings }: Checked, { color }) => {
    const lines = findings.map(({ severity, line, message }) => {
      const place = line === null ? file : `${file}:${line}`;
      const paint = severity === "mistake" ? color.red : color.yellow;
      return `${paint(severity)} ${plain(`${place}: ${message}`)}`;
    });
    if (!valid) return lines.join("\n");
    const rest = lines.length > 0 ? `, with ${counted(lines.length, "warning")}` : "";
    return [...lines, `${color.green("valid")} ${plain(file)}${rest}`].join("\n");
  },
};

const showCommand: Command = {
  op: configShow,
  positionals: [{ key: "key" }],
  readsConfig: true,
  examples: [
    ["viv config show", "each setting and its file and line; secrets are hidden"],
    ["viv config show handlers.fix", "of one route"],
  ],
  human: ({ settings }: Shown, term, io) => {
    if (settings.length === 0) return term.color.dim("nothing is set here");
    return table(
      settings.map(({ key, value, from }) => {
        const origin = plain(from.startsWith("/") ? relative(io.cwd, from) : from);
        const text = plain(typeof value === "string" ? value : JSON.stringify(value));
        const dim = from === "default" ? term.color.dim : (one: string) => one;
        return [dim(plain(key)), prose(dim(text)), dim(origin)];
      }),
      term,
    );
  },
};

export const commands = {
  "config check": checkCommand,
  "config show": showCommand,
} satisfies Record<string, Command>;
