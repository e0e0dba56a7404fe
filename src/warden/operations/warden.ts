import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { events, list, text } from "../../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  type Here,
  type Nothing,
  serve,
} from "../../operation/operation.ts";
import { parseTimeouts, WARDEN_DEFAULTS, wardenSection } from "../config.ts";
import { type Dance, isUndecided } from "../dance.ts";
import { assertNonce, isAnswerOf } from "../question.ts";
import { oneLine } from "../warrant.ts";
import {
  fromConfig,
  poolFlag,
  poolFor,
  stateFlag,
  wardenNow,
  wardenPlace,
  wardenShape,
} from "./place.ts";
import type { UpWardenEvent, WardenOptions, WardenPorts, WardenService } from "./ports.ts";
import { receiptView, sortedDances, viewReceipt } from "./views.ts";

export type { UpWardenEvent, WardenService } from "./ports.ts";

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

export const wardenStatus = defineOperation({
  name: "warden status",
  summary: "state of the warden, its last verdicts, and findings of its rules",
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

export const wardenPause = defineOperation({
  name: "warden pause",
  summary: "pause the pool: no new questions, no executions",
  input: z.strictObject({ why: text("reason, shown in the status"), state: stateFlag }),
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

export const wardenResume = defineOperation({
  name: "warden resume",
  summary: "resume the pool after a pause; resets the breaker",
  input: z.strictObject({ state: stateFlag }),
  output: z.object({ was: wardenShape.paused }),
  async run(context, { state }) {
    const { files } = await wardenPlace(context, state);
    const was = files.paused();
    if (was) files.resume(context.now());
    return { was };
  },
});

export const alive = defineOperation({
  name: "alive",
  summary: "answer the warden's question from a process without a terminal",
  input: z.strictObject({
    nonce: text("nonce of the question (default: all questions to this process)"),
    state: stateFlag,
  }),
  output: z.object({
    /** Null when nobody asks. */
    nonce: z.nullable(z.string()),
    answered: z.boolean(),
    /** All that were answered: a member and its crew may both be asked. */
    nonces: z.array(z.string()),
  }),
  async run(context, { nonce: given, state }) {
    if (given === undefined) return answerOwn(context, state);
    const nonce = assertNonce(given);
    const { files, ports, here } = await wardenPlace(context, state);
    const isAsked = files.dances().some(({ attempts }) => attempts.some((a) => a.nonce === nonce));
    if (!isAsked) {
      const message = `nobody is asked with ${nonce} in ${files.folder} now; --state DIR names another warden's folder.`;
      throw new VivError("WARRANT_NOT_FOUND", message, { nonce });
    }
    files.answer(nonce, answerText(nonce, ports, here, context.now()));
    return { nonce, answered: true, nonces: [nonce] };
  },
});

/** Of every warden that this process may know of: its own, and the one whose question it was shown. */
async function answerOwn(context: Context, state: string | undefined) {
  const place = await wardenPlace(context, state);
  const { ports, here } = place;
  const shown = here.env.VIV_QUESTION ? ports.wardenOf(here.env.VIV_QUESTION) : null;
  const all = [place.files];
  if (state === undefined && shown !== null && shown !== place.files.folder) {
    all.push(ports.filesIn(shown));
  }
  const nonces: string[] = [];
  for (const files of all) {
    for (const dance of files.dances().filter(isUndecided)) {
      const nonce = dance.attempts.at(-1)?.nonce;
      if (nonce === undefined) continue;
      const answer = answerText(nonce, ports, here, context.now());
      if (!isFrom(answer, nonce, dance, ports)) continue;
      files.answer(nonce, answer);
      nonces.push(nonce);
    }
  }
  return { nonce: nonces[0] ?? null, answered: nonces.length > 0, nonces };
}

/** Of a session, only what was seen in it: others may live in the same tmux server. */
function isFrom(answer: string, nonce: string, dance: Dance, ports: WardenPorts): boolean {
  const { bound, tree } = dance;
  if (bound === null || !isAnswerOf(answer, nonce, bound)) return false;
  if (bound.is === "process") return true;
  const line = ports.ancestors();
  return tree.some(({ pid, started }) =>
    line.some((one) => one.pid === pid && one.started === started),
  );
}

function answerText(nonce: string, { machine, ancestors }: WardenPorts, here: Here, now: number) {
  const { host, boot } = machine.self();
  const answer = {
    ...{ nonce, at: new Date(now).toISOString(), host, boot },
    ...{ chain: ancestors(), claim: here.env.VIV_CLAIM ?? "" },
  };
  return `${JSON.stringify(answer)}\n`;
}

const input = z.strictObject({
  pool: poolFlag,
  timeouts: list("timeout of each attempt, one to five (default 60s,120s,240s)"),
  state: stateFlag,
});

export type WardenUpInput = z.output<typeof input>;

export const wardenUp = defineStream({
  name: "warden up",
  summary: "run the pool: its dogs take warrants, ask suspects, and pardon or end them",
  input,
  event: events<UpWardenEvent>(),
  output: z.object({}),
  stream: wardenStream,
});

export function wardenStream(context: Context, given: WardenUpInput) {
  return serve<UpWardenEvent, Nothing>(context, async (emit) => {
    const warden = await wardenFor(context, given, emit);
    return {
      stop: () => warden.stop(),
      run: async () => {
        if (!context.signal.aborted) await warden.run();
        return {};
      },
    };
  });
}

/** The warden that these flags and this viv.toml describe. */
export async function wardenFor(
  context: Context,
  given: WardenUpInput,
  tell: (event: UpWardenEvent) => void,
): Promise<WardenService> {
  const { here, ports, files } = await wardenPlace(context, given.state);
  return ports.service(optionsFor(here, ports, given, files.folder), tell);
}

function optionsFor(
  here: Here,
  ports: WardenPorts,
  given: WardenUpInput,
  state: string,
): WardenOptions {
  const config = here.config?.section(wardenSection);
  const { breaker, killAfterMs, timeoutsMs, unasked, patienceMs } = WARDEN_DEFAULTS;
  const at = (path: string) => fromConfig(path, here);
  return {
    state,
    settings: {
      pool: poolFor(here, given.pool),
      timeoutsMs: given.timeouts
        ? parseTimeouts(given.timeouts, "--timeouts")
        : (config?.timeoutsMs ?? timeoutsMs),
      killAfterMs: config?.killAfterMs ?? killAfterMs,
      breaker: { ...breaker, ...config?.breaker },
      unasked: config?.unasked ?? unasked,
      patienceMs: config?.patienceMs ?? patienceMs,
    },
    ask: config?.ask ?? [],
    rules: {
      rules: config?.rules ?? {},
      runs: (config?.runs ?? []).map(at),
      crews: (config?.crews ?? []).map(at),
      sessions: config?.sessions ?? [],
      socket: config?.tmuxSocket === undefined ? null : at(config.tmuxSocket),
    },
    hook: config?.hook,
    webhook: config?.webhook,
    cwd: here.config?.folder ?? here.cwd,
    budgetFor: (type) => (here.config ? ports.budgetFor(here.config, type) : null),
  };
}
