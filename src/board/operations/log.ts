import * as z from "zod/mini";
import { defineOperation } from "../../operation/operation.ts";
import { taskNamed } from "../board.ts";
import { logOfTask } from "../history.ts";
import { readCommitted } from "../open.ts";
import { board, boardOf, slug } from "./shared.ts";

const nullable = z.nullable(z.string());

export const boardLog = defineOperation({
  name: "board log",
  summary: "the commits that changed a task, the oldest first",
  input: z.strictObject({ slug, board }),
  output: z.object({
    slug: z.string(),
    commits: z.array(
      z.object({
        ...{ commit: z.string(), author: z.string(), at: z.string(), subject: z.string() },
        ...{ from: nullable, to: nullable, agent: nullable },
      }),
    ),
  }),
  async run(context, given) {
    const repository = await boardOf(context, given);
    const commits = await logOfTask(repository, given.slug);
    // One that was removed long ago has a log too.
    if (commits.length === 0)
      taskNamed(await readCommitted(repository), given.slug, repository.file);
    return { slug: given.slug, commits };
  },
});
