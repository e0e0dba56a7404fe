import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { events, list, text } from "../../operation/fields.ts";
import {
  type Context,
  defineOperation,
  defineStream,
  type Nothing,
  serve,
} from "../../operation/operation.ts";
import { MAX_POOL, parseTimeouts } from "../config.ts";
import { type Dance, isUndecided, VERDICTS } from "../dance.ts";
import { assertNonce, isAnswerOf } from "../question.ts";
import type { WardenFiles } from "../warden-files.ts";
import type { WardenEvent, WardenOptions, WardenPorts } from "../warden-host.ts";
import { oneLine } from "../warrant.ts";
import {
  danceViews,
  fromConfig,
  personOf,
  poolSize,
  stateFlag,
  type WardenPlace,
  wardenNow,
  wardenPlace,
  wardenShape,
} from "./warden-place.ts";

const statusOutput = z.object({
  ...wardenShape,
  state: z.string(),
  active: z.number(),
  waiting: z.number(),
  /** Executions that wait for a person. */
  held: z.array(z.object({ dog: z.string(), target: z.string() })),
  /** Of the last day, the newest first. */
  verdicts: z.array(
    z.object({
      dog: z.string(),
      warrant: z.string(),
      target: z.string(),
      verdict: z.enum(VERDICTS),
      why: z.string(),
      ended_at: z.string(),
    }),
  ),
  /** Findings of rules that have not ceased, the oldest first. */
  findings: z.array(z.record(z.string(), z.unknown())),
});
export type WardenStatus = z.output<typeof statusOutput>;

const DAY_MS = 86_400_000;

export const wardenStatus = defineOperation({
  name: "warden status",
  summary: "state of the warden, its last verdicts, and findings of its rules",
  input: z.strictObject({ state: stateFlag }),
  changes: () => false,
  output: statusOutput,
  async run(context, { state }) {
    const place = await wardenPlace(context, state);
    const { files } = place;
    const dances = danceViews(place, context.now());
    const held = dances.filter((one) => one.held !== null);
    const receipts = files.receipts(context.now() - DAY_MS);
    return {
      ...wardenNow(place),
      state: files.folder,
      active: dances.length,
      held: held.map(({ dog, target }) => ({ dog, target })),
      waiting: files.queued().warrants.length,
      verdicts: receipts.map(({ dog, warrant, verdict, why, ended_at }) => ({
        ...{ dog, warrant: warrant.id, target: warrant.target, verdict, why, ended_at },
      })),
      findings: files.openFindings(),
    };
  },
});

export const wardenPause = defineOperation({
  name: "warden pause",
  summary: "pause the pool: no new questions, no executions",
  input: z.strictObject({
    why: text("a note for the record (shown in the status)"),
    state: stateFlag,
  }),
  output: z.object({ paused: wardenShape.paused }),
  async run(context, { why, state }) {
    const { files, here } = await wardenPlace(context, state);
    const before = files.paused();
    if (before) return { paused: before };
    const pause = {
      since: new Date(context.now()).toISOString(),
      by: personOf(here),
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
    if (was) files.resume(context.now(), personOf(context.here));
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
    /** Null without a question. */
    nonce: z.nullable(z.string()),
    answered: z.boolean(),
    /** All that were answered: a member and its crew may both be asked. */
    nonces: z.array(z.string()),
  }),
  async run(context, { nonce: given, state }) {
    const nonce = given === undefined ? undefined : assertNonce(given);
    const place = await wardenPlace(context, state);
    if (nonce === undefined) return answerOwn(place, state === undefined, context.now());
    const { files } = place;
    const isAsked = files.dances().some(({ attempts }) => attempts.some((a) => a.nonce === nonce));
    if (!isAsked) {
      const message = `no question in ${files.folder} has the nonce ${nonce} now; --state-dir DIR names another warden's folder.`;
      throw new VivError("WARRANT_NOT_FOUND", message, { nonce });
    }
    answerAs(place, files, nonce, context.now());
    return { nonce, answered: true, nonces: [nonce] };
  },
});

function answerAs(place: WardenPlace, files: WardenFiles, nonce: string, now: number): void {
  files.answer(nonce, answerText(nonce, place, now));
  const asked = (dance: Dance) => dance.attempts.some((one) => one.nonce === nonce);
  const dance = files.dances().find(asked);
  if (dance !== undefined) recordAnswer(files, dance, nonce, now);
}

function recordAnswer(files: WardenFiles, { id, warrant }: Dance, nonce: string, now: number) {
  const about = { dog: id, target: warrant.target, warrant: warrant.id, nonce };
  files.record(now, { room: "warden", event: "answered", agent: warrant.target, ...about });
}

/** Answers all questions to this process: of its own warden, and of the one in VIV_QUESTION. */
function answerOwn(place: WardenPlace, isAnyWarden: boolean, now: number) {
  const { ports, here } = place;
  const shown = here.env.VIV_QUESTION ? ports.wardenOf(here.env.VIV_QUESTION) : null;
  const isOther = isAnyWarden && shown !== null && shown !== place.files.folder;
  const nonces: string[] = [];
  for (const files of isOther ? [place.files, ports.filesIn(shown)] : [place.files]) {
    for (const dance of files.dances().filter(isUndecided)) {
      const nonce = dance.attempts.at(-1)?.nonce;
      if (nonce === undefined) continue;
      const answer = answerText(nonce, place, now);
      if (!isFrom(answer, nonce, dance, ports)) continue;
      files.answer(nonce, answer);
      recordAnswer(files, dance, nonce, now);
      nonces.push(nonce);
    }
  }
  return { nonce: nonces[0] ?? null, answered: nonces.length > 0, nonces };
}

/** Of a session, only processes that were seen in it: others may live in the same tmux server. */
function isFrom(answer: string, nonce: string, dance: Dance, ports: WardenPorts): boolean {
  const { bound, tree } = dance;
  if (bound === null || !isAnswerOf(answer, nonce, bound)) return false;
  if (bound.is === "process") return true;
  const line = ports.ancestors();
  return tree.some(({ pid, started }) =>
    line.some((one) => one.pid === pid && one.started === started),
  );
}

function answerText(nonce: string, { ports, here }: WardenPlace, now: number): string {
  const { host, boot } = ports.machine.self();
  const answer = {
    ...{ nonce, at: new Date(now).toISOString(), host, boot },
    ...{ chain: ports.ancestors(), claim: here.env.VIV_CLAIM ?? "" },
  };
  return `${JSON.stringify(answer)}\n`;
}

const upInput = z.strictObject({
  pool: z.optional(
    z
      .int()
      .check(z.gte(1), z.lte(MAX_POOL))
      .check(z.describe(`number of dogs (default: 5, at most ${MAX_POOL})`)),
  ),
  timeouts: list("timeout of each attempt, one to five (default: 60s,120s,240s)"),
  state: stateFlag,
});

export const wardenUp = defineStream({
  name: "warden up",
  summary: "run the pool: its dogs take warrants, ask suspects, and pardon or end them",
  input: upInput,
  event: events<WardenEvent>(),
  output: z.object({}),
  stream: (context: Context, given) =>
    serve<WardenEvent, Nothing>(context, async (emit) => {
      const place = await wardenPlace(context, given.state);
      const warden = await place.ports.service(optionsFor(place, given), emit);
      return {
        stop: () => warden.stop(),
        run: async () => {
          if (!context.signal.aborted) await warden.run();
          return {};
        },
      };
    }),
});

function optionsFor(place: WardenPlace, given: z.output<typeof upInput>): WardenOptions {
  const { here, ports, files, config } = place;
  const at = (path: string) => fromConfig(path, here);
  return {
    state: files.folder,
    config: {
      ...config,
      pool: given.pool ?? poolSize(place),
      timeoutsMs: given.timeouts ? parseTimeouts(given.timeouts, "--timeouts") : config.timeoutsMs,
      runs: config.runs.map(at),
      crews: config.crews.map(at),
      tmuxSocket: config.tmuxSocket && at(config.tmuxSocket),
    },
    cwd: here.config?.folder ?? here.cwd,
    budgetFor: (type) => (here.config ? ports.budgetFor(here.config, type) : null),
  };
}
