import * as z from "zod/mini";
import { defineOperation } from "../../operation/operation.ts";
import { BREACHES } from "../audit.ts";
import { auditBoard } from "../history.ts";
import { board, boardOf } from "./shared.ts";

export const boardAudit = defineOperation({
  name: "board audit",
  summary: "read the git log of a board and tell which commits broke the protocol",
  input: z.strictObject({ board }),
  output: z.object({
    ...{ board: z.string(), commits: z.number(), claims: z.number() },
    findings: z.array(
      z.object({
        ...{ code: z.enum(BREACHES), slug: z.string(), agent: z.nullable(z.string()) },
        ...{ message: z.string(), commit: z.string(), author: z.string() },
        ...{ at: z.string(), subject: z.string() },
      }),
    ),
  }),
  async run(context, given) {
    const repository = await boardOf(context, given);
    return { board: repository.file, ...(await auditBoard(repository)) };
  },
});
