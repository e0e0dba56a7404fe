import * as z from "zod/mini";
import { defineOp } from "../../operation/op.ts";

export const pitInit = defineOp({
  name: "pit init",
  summary:
    "make a pit: food/ claimed/ done/ scraps/ waste/, and a README that teaches the protocol",
  access: "create",
  layout: "pit",
  input: z.strictObject({}),
  output: z.object({ pit: z.string(), readme: z.enum(["written", "there"]) }),
  async run({ store, host }) {
    const { writeIfAbsent } = await host();
    const { readme } = await import("./readme.ts");
    writeIfAbsent(`${store.folder}/.viv/.gitignore`, "*\n"); // all of it can be rebuilt
    const isNew = writeIfAbsent(`${store.folder}/README.md`, readme());
    return { pit: store.location, readme: isNew ? ("written" as const) : ("there" as const) };
  },
});
