import * as z from "zod/mini";
import { flag, text } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { SINCE } from "../model-operations.ts";
import { ExportFolder, resolveDir } from "./export-folder.ts";
import { writePages } from "./write-pages.ts";

export const exportOperation = defineRunOperation({
  name: "export",
  summary: "board and report as static files, safe to publish",
  access: "read",
  input: z.strictObject({
    html: z
      .string()
      .check(z.describe("write HTML there (a folder, which may hold an earlier export)")),
    since: text(`${SINCE} (of the report; default: 12h)`),
    all_tasks: flag(
      "a page for every task (default: the first of each column, and those of the report)",
    ),
    no_artifacts: flag("leave artifacts out"),
    no_logs: flag("leave logs out"),
    payloads: flag("show payloads, too"),
  }),
  output: z.object({
    dir: z.string(),
    files: z.number(),
    /** On the board. */
    tasks: z.number(),
    /** With a page of their own. */
    task_pages: z.number(),
    bytes: z.number(),
  }),
  async run(context, input) {
    const { store, here } = context;
    const folder = ExportFolder.begin(resolveDir(here.cwd, input.html), store.folder);
    try {
      const included = {
        artifacts: !input.no_artifacts,
        logs: !input.no_logs,
        payloads: input.payloads === true,
      };
      const written = await writePages(context, folder, included, input);
      return { ...folder.publish(), ...written };
    } catch (error) {
      folder.discard();
      throw error;
    }
  },
});
