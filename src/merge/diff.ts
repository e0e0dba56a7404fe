import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { flag } from "../operation/fields.ts";
import { defineRunOperation, mustShow } from "../queue/operation.ts";
import { anyState } from "../queue/schemas.ts";
import { changedFiles, changesOf, diffText, sumOf } from "./changes.ts";

export const diff = defineRunOperation({
  name: "diff",
  summary: "what a task changed, against what it began from",
  access: "read",
  input: z.strictObject({
    id: z.string().check(z.describe("id of the task")),
    stat: flag("only the files and how many lines"),
    name_only: flag("only the names of the files"),
    file: z.optional(z.string().check(z.describe("only this file, by its path in the repository"))),
  }),
  output: z.object({
    id: z.string(),
    type: z.nullable(z.string()),
    state: anyState,
    branch: z.string(),
    base: z.string(),
    head: z.nullable(z.string()),
    /** Where it was looked at: a landed task may have neither a workspace nor a branch any more. */
    seen: z.enum(["workspace", "branch", "landed"]),
    /** The workspace has changes that are not committed; they are in the diff. */
    uncommitted: z.boolean(),
    files: z.array(
      z.object({
        path: z.string(),
        insertions: z.nullable(z.number()),
        deletions: z.nullable(z.number()),
      }),
    ),
    insertions: z.number(),
    deletions: z.number(),
    form: z.enum(["diff", "stat", "names"]),
    /** Null in another form. */
    diff: z.nullable(z.string()),
  }),
  async run({ store }, { id, stat, name_only, file }) {
    if (stat && name_only) throw new VivError("INVALID", "choose one of --stat and --name-only.");
    const view = await mustShow(store, id);
    const changes = await changesOf(store, id);
    if (changes === null) {
      const message = `${id} has no branch: its route has no workspace = "worktree", it has not begun, or its workspace was removed with nothing in it that was not merged; see: viv show ${idWord(id)}`;
      throw new VivError("WRONG_STATE", message, { id, state: view.state });
    }
    const all = await changedFiles(changes);
    const files = file === undefined ? all : all.filter(({ path }) => path === file);
    if (file !== undefined && files.length === 0) {
      const message = `${id} does not change ${JSON.stringify(file)}; see: viv diff ${idWord(id)} --name-only`;
      throw new VivError("INVALID", message, { id, file });
    }
    const { branch, base, head, seen, uncommitted } = changes;
    const { insertions, deletions } = sumOf(files);
    const form: "stat" | "names" | "diff" = stat ? "stat" : name_only ? "names" : "diff";
    return {
      ...{ id: view.id, type: view.type, state: view.state },
      ...{ branch, base, head, seen, uncommitted, files, insertions, deletions },
      form,
      diff: form === "diff" ? await diffText(changes, file) : null,
    };
  },
});
