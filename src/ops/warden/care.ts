import * as z from "zod/mini";
import { assertNonce } from "../../model/alive.ts";
import { VivError } from "../../model/errors.ts";
import { oneLine } from "../../model/warrant.ts";
import { defineFreeOp } from "../op.ts";
import { stateFlag, text, wardenNow, wardenPlace, wardenShape } from "./place.ts";
import { receiptView, sortedDances, viewReceipt } from "./views.ts";

const statusOutput = z.object({
  ...wardenShape,
  state: z.string(),
  active: z.number(),
  waiting: z.number(),
  /** Executions that wait for a person. */
  held: z.array(z.object({ dog: z.string(), target: z.string() })),
  /** Of the last day, the newest first. */
  verdicts: z.array(receiptView),
  /** What rules have found and is not over, the oldest first. */
  findings: z.array(z.record(z.string(), z.unknown())),
});
export type WardenStatus = z.output<typeof statusOutput>;

const DAY_MS = 86_400_000;

export const wardenStatus = defineFreeOp({
  name: "warden status",
  summary: "whether a warden is up, what its dogs did, and what its rules have found",
  access: "none",
  input: z.strictObject({ state: stateFlag }),
  output: statusOutput,
  async run(context, { state }) {
    const place = await wardenPlace(context, state);
    const { files, ports } = place;
    const now = wardenNow(place);
    const dances = sortedDances(place);
    const held = dances.filter(
      (one) => now.paused !== null && one.held?.since === now.paused.since,
    );
    return {
      ...now,
      state: files.folder,
      active: dances.length,
      held: held.map(({ id, warrant }) => ({ dog: id, target: warrant.target })),
      waiting: files.queued().warrants.length,
      verdicts: files.receipts(context.now() - DAY_MS).map(viewReceipt),
      findings: openFindings(ports.readEnd(files.observedFile(), 1024 * 1024)),
    };
  },
});

function openFindings(text: string): Record<string, unknown>[] {
  const open = new Map<string, Record<string, unknown>>();
  for (const line of text.split("\n")) {
    let one: Record<string, unknown>;
    try {
      one = JSON.parse(line) as Record<string, unknown>;
    } catch {
      continue; // cut off, or torn by a full disk
    }
    const key = JSON.stringify([one?.rule, one?.kind, one?.target, one?.home]);
    if (one?.state === "found") open.set(key, one);
    else open.delete(key);
  }
  return [...open.values()];
}

export const wardenPause = defineFreeOp({
  name: "warden pause",
  summary: "let the pool pause: nobody new is asked, and nobody is ended",
  access: "none",
  input: z.strictObject({ why: text("for those who wonder"), state: stateFlag }),
  output: z.object({ paused: wardenShape.paused }),
  async run(context, { why, state }) {
    const { files, here } = await wardenPlace(context, state);
    const before = files.paused();
    if (before) return { paused: before };
    const pause = {
      since: new Date(context.now()).toISOString(),
      by: here.env.USER || "unknown",
      why: oneLine(why) || "by hand",
    };
    files.pause(pause);
    return { paused: pause };
  },
});

export const wardenResume = defineFreeOp({
  name: "warden resume",
  summary: "let the pool go on after a pause, its own or by hand; the breaker counts anew",
  access: "none",
  input: z.strictObject({ state: stateFlag }),
  output: z.object({ was: wardenShape.paused }),
  async run(context, { state }) {
    const { files } = await wardenPlace(context, state);
    const was = files.paused();
    if (was) files.resume(context.now());
    return { was };
  },
});

export const alive = defineFreeOp({
  name: "alive",
  summary: "answer the warden's question from within a suspect that has no terminal",
  access: "none",
  input: z.strictObject({
    nonce: z.string().check(z.describe("the one in the question")),
    state: stateFlag,
  }),
  output: z.object({ nonce: z.string(), answered: z.literal(true) }),
  async run(context, { nonce: given, state }) {
    const nonce = assertNonce(given);
    const { files, ports, here } = await wardenPlace(context, state);
    const isAsked = files.dances().some(({ attempts }) => attempts.some((a) => a.nonce === nonce));
    if (!isAsked) {
      const message = `nobody is asked with ${nonce} in ${files.folder} now; --state DIR names another warden's folder.`;
      throw new VivError("WARRANT_NOT_FOUND", message, { nonce });
    }
    const { host, boot } = ports.machine.self();
    const answer = {
      ...{ nonce, at: new Date(context.now()).toISOString(), host, boot },
      ...{ chain: ports.ancestors(), claim: here.env.VIV_CLAIM ?? "" },
    };
    files.answer(nonce, `${JSON.stringify(answer)}\n`);
    return { nonce, answered: true as const };
  },
});
