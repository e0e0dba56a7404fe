import type { Command } from "../../operation/command.ts";
import { plain, type Term, table } from "../../operation/term.ts";
import { engines } from "../operations/engines.ts";

interface Shown {
  name: string;
  binary: string;
  path: string | null;
  version: string | null;
  routes: { type: string; command: string[]; problem: string | null }[];
}

export const command: Command = {
  op: engines,
  examples: [
    ["viv engines", "what is installed, and what the routes of viv.toml would start"],
    ["viv engines --json | jq -r '.engines[].routes[].command | @sh'", "the command lines alone"],
  ],
  human: (output: { engines: Shown[] }, term) => {
    const rows = output.engines.map((one) => row(one, term));
    const runs = output.engines.flatMap((one) => one.routes.map((each) => dryRun(each, term)));
    const title = runs.length > 0 ? ["", term.color.bold("What the routes start")] : [];
    return [table(rows, term), ...title, ...runs].join("\n");
  },
};

/** Ours come with viv; `exec` is whatever a route names. */
function row({ name, binary, path, version }: Shown, { color }: Term): string[] {
  if (binary === "") return [name, color.dim("any command"), ""];
  if (name === "llm" || name === "script") return [name, color.green("built in"), ""];
  if (path === null) return [name, color.dim("not installed"), color.dim(plain(binary))];
  return [name, color.green(plain(version ?? "installed")), color.dim(plain(path))];
}

function dryRun(
  { type, command: argv, problem }: Shown["routes"][number],
  { color }: Term,
): string {
  const what = problem === null ? argv.map(quoted).join(" ") : color.red(plain(problem));
  return `  ${color.cyan(plain(type))}  ${what}`;
}

/** As it would be typed into a shell. */
function quoted(word: string): string {
  const safe = plain(word);
  return /^[\w@%+=:,./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", "'\\''")}'`;
}
