import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../model/errors.ts";
import { init } from "../../ops/init.ts";
import type { Command } from "../command.ts";

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
    writeFileSync(join(io.cwd, ".viv-run"), `${path}\n`);
  },
  human: (output: { run_id: string; run_dir: string }, { color }) =>
    `${color.green("made")} ${output.run_dir}\n${color.dim("commands in this folder use it (.viv-run); try: viv enqueue --type hello")}`,
};
