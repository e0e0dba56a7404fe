import * as z from "zod/mini";
import { formatCount, formatUsd } from "../../base/amount.ts";
import type { Command } from "../../operation/command.ts";
import { defineOp } from "../../operation/op.ts";
import { clip, type Term, termFor } from "../../operation/term.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { WORK_SITE } from "../../work/site.ts";
import { currentCounts, watchChanges } from "../operations/watch.ts";
import { countLine, paintState } from "./ls.ts";

export const command: Command = {
  op: defineOp({
    name: "watch",
    summary: "changes as they happen, until Ctrl-C",
    access: "read",
    input: z.strictObject({
      until_idle: z.optional(z.boolean().check(z.describe("stop when nothing is left to do"))),
    }),
    output: z.unknown(),
    run: async () => undefined,
  }),
  examples: [
    ["viv watch", ""],
    ["viv watch --until-idle && viv ls --state failed", "wait for a run to finish"],
    ["viv watch --json | jq -r 'select(.to==\"failed\").id'", "one line of JSON per change"],
  ],
  stream: async (context, input, io, json) => {
    const term = termFor(io, io.stdout);
    const stop = new AbortController();
    const signal = AbortSignal.any([io.signal, stop.signal]);
    const isIdle = async () => {
      const counts = await currentCounts(context);
      if (counts.pending + counts.claimed + counts.waiting > 0) return false;
      // What a snake says it has done comes back if it is not borne out.
      return (await context.store.extension(WORK_SITE)?.hasUnprovenResults()) !== true;
    };
    const changes = watchChanges(context, signal)[Symbol.asyncIterator]();
    // The watch stands before the first look, so that nothing falls between the two.
    let next = changes.next();
    if (!json) io.stdout.write(`${countLine(await currentCounts(context), term)}\n`);
    if (input.until_idle && (await isIdle())) stop.abort();
    for (;;) {
      const { value: change, done } = await next;
      if (done) return 0;
      next = changes.next();
      if (json) io.stdout.write(`${JSON.stringify(change)}\n`);
      else if (change.kind === "ledger") {
        const line = stepLine(change.line, term);
        if (line !== null) io.stdout.write(`${line}\n`);
        continue;
      } else if (change.kind === "missed") {
        io.stdout.write(
          `${change.count} changes since ${change.since} are not shown; see: viv ls\n`,
        );
      } else {
        const from = change.from ? `${paintState(change.from, term)} → ` : "";
        const to = change.to ? paintState(change.to, term) : term.color.dim("gone");
        const by = change.worker ? term.color.dim(` by ${change.worker}`) : "";
        io.stdout.write(
          `${term.color.dim(change.at.slice(11, 23))}  ${change.id}  ${from}${to}${by}\n`,
        );
      }
      if (input.until_idle && (await isIdle())) stop.abort();
    }
  },
};

/** What a model run does, a line for each step; null for one that only says what was used. */
function stepLine(line: LedgerLine, { color, width }: Term): string | null {
  const { at, task = "", event } = line;
  const time = color.dim(at.slice(11, 23));
  if (event === "usage") {
    const { usd, tokens } = line as { usd?: number; tokens?: number };
    return `${time}  ${task}  ${color.dim(`used ${formatUsd(usd ?? 0)}, ${formatCount(tokens ?? 0)} tokens`)}`;
  }
  const { kind, tool, target, text } = line as Partial<Record<string, string>>;
  const what = kind === "tool" ? `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}` : text;
  if (!what) return null;
  return `${time}  ${task}  ${clip(what, Math.max(20, width - task.length - 16))}`;
}
