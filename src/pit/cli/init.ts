import { relative } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import type { Command } from "../../operation/command.ts";
import { pitInit } from "../operations/init.ts";

export const command: Command = {
  op: {
    ...pitInit,
    input: z.strictObject({
      dir: z.optional(z.string().check(z.describe("where (default ./pit)"))),
    }),
  },
  positionals: [{ key: "dir" }],
  runFrom: (input, run) => {
    if (typeof input.dir === "string" && run !== undefined) {
      throw new VivError("USAGE", "say where once: viv pit init DIR, or viv pit init --run DIR.");
    }
    return typeof input.dir === "string" ? input.dir : (run ?? "pit");
  },
  examples: [["viv pit init ./pit", "then toss food into it, and start snakes"]],
  human: ({ pit, readme }: { pit: string; readme: string }, { color }, io) => {
    const path = relative(io.cwd, pit) || ".";
    const what = readme === "written" ? "made" : "is there";
    return `${color.green(what)} ${pit}\n${color.dim(`its README.md teaches the protocol; try: viv pit toss ${path} "what to do" --done-when "a command"`)}`;
  },
};
