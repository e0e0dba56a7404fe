import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import type { Command } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { init } from "../operations/init.ts";

export const command: Command = {
  op: {
    ...init,
    input: z.strictObject({
      dir: z.optional(z.string().check(z.describe("where (default ./run)"))),
    }),
  },
  positionals: [{ key: "dir" }],
  runFrom: (input, run) => {
    if (typeof input.dir === "string" && run !== undefined) {
      throw new VivError("USAGE", "say where once: viv init DIR, or viv init --run DIR.");
    }
    return typeof input.dir === "string" ? input.dir : (run ?? "run");
  },
  examples: [["viv init ./audit", "later commands here need no --run: .viv-run says where"]],
  after: (output, _input, io) => {
    const { run_dir } = output as { run_dir: string };
    const path = relative(io.cwd, run_dir) || ".";
    if (isElsewhere(io)) return;
    writeFileSync(join(io.cwd, ".viv-run"), `${path}\n`);
  },
  human: (output: { run_id: string; run_dir: string }, { color }, io) => {
    const made = `${color.green("made")} ${output.run_dir}`;
    const why = isElsewhere(io);
    return why
      ? `${made}\n${color.dim(`commands in this folder still use another one, because of ${why}`)}`
      : `${made}\n${color.dim("commands in this folder use it (.viv-run); try: viv enqueue --type hello")}`;
  },
};

/** What would keep commands here from using the new run. */
function isElsewhere(io: Io): string | null {
  if (io.env.VIV_RUN) return "VIV_RUN";
  const toml = join(io.cwd, "viv.toml");
  if (!existsSync(toml) || !/^\s*run\s*=/m.test(readFileSync(toml, "utf8"))) return null;
  return "the run in viv.toml";
}
