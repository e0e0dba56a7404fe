import type { Command } from "../../operation/command.ts";
import { plain } from "../../operation/term.ts";
import { service } from "../operations/service.ts";

interface Output {
  files: { path: string; status: string }[];
  next: string[];
}

/** Why, for commands that do not say it themselves. */
const WHY: Record<string, string> = {
  link: "this folder is not one that systemd looks into",
  restart: "with its new settings",
  "enable-linger": "go on after you log out, and start with the machine",
  "-u": "what it says",
};

export const command: Command = {
  op: service,
  positionals: [{ key: "action" }],
  examples: [
    ["viv service install", "routes from viv.toml; says what to run next"],
    ["viv service install --handler ./handle.sh --concurrency 4", "one executable for every task"],
    ["viv service install --force --types audit,fix", "other settings than before"],
    ["viv service uninstall", "after systemctl --user disable --now …, which it tells you"],
  ],
  human: ({ files, next }: Output, { color }) => {
    const done = files.map(({ path, status }) => {
      const paint = status === "written" || status === "removed" ? color.green : color.dim;
      return `${paint(status)} ${plain(path)}`;
    });
    const commands = next.map((line) => {
      const why = line.split(" ").flatMap((word) => WHY[word] ?? [])[0];
      return `  ${color.cyan(plain(line))}${why ? color.dim(`  # ${why}`) : ""}`;
    });
    return [...done, "", color.bold("Now run"), ...commands].join("\n");
  },
};
