import { VivError } from "../base/errors.ts";
import { completionFor, SHELLS } from "../operation/completion.ts";
import { flagsOf } from "../operation/flags.ts";
import { CATALOG } from "./catalog.ts";
import type { CliIo } from "./cli.ts";
import { findRun } from "./find-run.ts";

const HELP = `viv completion: completion for your shell

  eval "$(viv completion bash)"
  eval "$(viv completion zsh)"
  viv completion fish | source
`;

export async function completion(io: CliIo, [word]: readonly string[]): Promise<number> {
  if (word === "ids") return printIds(io);
  if (word === "flags") return printFlags(io);
  if (word === "schema") return printSchema(io);
  const shell = SHELLS.find((one) => one === word);
  if (shell !== undefined) io.stdout.write(await completionFor(shell, CATALOG));
  else if (word === "--help" || word === "-h") io.stdout.write(HELP);
  else {
    throw new VivError(
      "USAGE",
      `viv completion needs a shell: ${SHELLS.join(", ")}. For bash: eval "$(viv completion bash)"`,
    );
  }
  return 0;
}

/** The flags of every command as JSON: the build puts them beside the program. */
async function printFlags(io: CliIo): Promise<number> {
  const all: Record<string, unknown> = {};
  for (const { name, load } of CATALOG.commands) all[name] = await flagsOf(await load());
  io.stdout.write(JSON.stringify(all));
  return 0;
}

/** The schema of viv.toml: the build puts it there, too, for editors. */
async function printSchema(io: CliIo): Promise<number> {
  const { configSchema } = await import("./settings/schema.ts");
  io.stdout.write(`${JSON.stringify(configSchema(), null, 1)}\n`);
  return 0;
}

/** At most a thousand ids, of the run that is found from here; silent when there is none. */
async function printIds(io: CliIo): Promise<number> {
  try {
    const { path } = await findRun(undefined, io, () => {});
    const store = await io.open(path, { readOnly: true });
    for await (const { id } of store.list({ limit: 1000 })) io.stdout.write(`${id}\n`);
    await store.close();
  } catch {
    return 0; // a completion that fails must not write into the user's prompt
  }
  return 0;
}
