import * as z from "zod/mini";
import { defineRunOperation } from "../../queue/operation.ts";
import { workerHostPort } from "../../work/host.ts";

export const pitInit = defineRunOperation({
  name: "pit init",
  summary:
    "make a pit: food/ claimed/ done/ scraps/ waste/, and a README that teaches the protocol",
  access: "create",
  layout: "pit",
  input: z.strictObject({}),
  output: z.object({ pit: z.string(), readme: z.enum(["written", "there"]) }),
  async run({ store, use }) {
    const { writeIfAbsent } = await use(workerHostPort);
    const { readme } = await import("./readme.ts");
    writeIfAbsent(`${store.folder}/.viv/.gitignore`, "*\n"); // all of it can be rebuilt
    const isNew = writeIfAbsent(`${store.folder}/README.md`, readme());
    return { pit: store.location, readme: isNew ? ("written" as const) : ("there" as const) };
  },
});
