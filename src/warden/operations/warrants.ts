import { resolve } from "node:path";
import * as z from "zod/mini";
import { parseOptionalDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { count, flag, list, text } from "../../operation/fields.ts";
import { type Context, defineOperation, runPlacePort } from "../../operation/operation.ts";
import { type Resolved, resolveAgent, resolveWorker } from "../resolve.ts";
import type { BindResult } from "../warden-host.ts";
import { oneLine, TARGET_KINDS, UNASKED, type Warrant } from "../warrant.ts";
import {
  danceView,
  danceViews,
  findWarrant,
  fromConfig,
  noWardenNotes,
  personOf,
  stateFlag,
  type WardenPlace,
  type WarrantPlace,
  wardenNow,
  wardenPlace,
} from "./warden-place.ts";

const anything = z.record(z.string(), z.unknown());
const only = z.strictObject({ state: stateFlag });
const idInput = z.strictObject({
  id: z.string().check(z.describe("id of the warrant (or its dog)")),
  state: stateFlag,
});

const queueOutput = z.object({
  warrants: z.array(
    z.object({
      id: z.string(),
      target: z.string(),
      kind: z.enum(TARGET_KINDS),
      reason: z.string(),
      requester: z.string(),
      filed_at: z.string(),
      waiting_ms: z.number(),
    }),
  ),
  bad: z.array(z.object({ name: z.string(), why: z.string() })),
});
export type WarrantQueue = z.output<typeof queueOutput>;

function queueOf({ files }: WardenPlace, now: number): WarrantQueue {
  const { warrants, bad } = files.queued();
  return {
    warrants: warrants.map(({ id, target, kind, reason, requester, filed_at }) => {
      const waiting_ms = Math.max(0, now - Date.parse(filed_at));
      return { id, target, kind, reason, requester, filed_at, waiting_ms };
    }),
    bad: bad.map(({ name, why }) => ({ name, why })),
  };
}

export const warrantLs = defineOperation({
  name: "warrant ls",
  summary: "the open warrants: active and queued, oldest first",
  input: only,
  changes: () => false,
  output: z.extend(queueOutput, { dances: z.array(danceView) }),
  async run(context, { state }) {
    const place = await wardenPlace(context, state);
    const { warrants, bad } = queueOf(place, context.now());
    return { warrants, dances: danceViews(place, context.now()), bad };
  },
});

export const dogWarrants = defineOperation({
  name: "dog warrants",
  summary: "the queued warrants, oldest first",
  input: only,
  changes: () => false,
  output: queueOutput,
  run: async (context, { state }) => queueOf(await wardenPlace(context, state), context.now()),
});

export const warrantShow = defineOperation({
  name: "warrant show",
  summary: "everything about one warrant: its target, its dance, its receipt",
  input: idInput,
  changes: () => false,
  output: z.object({
    id: z.string(),
    state: z.enum(["queued", "dancing", "over", "withdrawn"]),
    warrant: anything,
    dance: z.optional(anything),
    receipt: z.optional(anything),
    /** Of a pool before this one, without a receipt. */
    record: z.optional(anything),
  }),
  async run(context, { id, state }) {
    const found = findWarrant(await wardenPlace(context, state), id);
    return {
      ...{ id: found.warrant.id, state: found.state, warrant: { ...found.warrant } },
      dance: found.state === "dancing" ? { ...found.dance } : undefined,
      receipt: found.state === "over" && found.receipt ? { ...found.receipt } : undefined,
      record: "record" in found ? { ...found.record } : undefined,
    };
  },
});

export const warrantWithdraw = defineOperation({
  name: "warrant withdraw",
  summary: "withdraw a warrant; a running dance ends with a pardon",
  input: idInput,
  output: z.object({
    id: z.string(),
    target: z.string(),
    /** False: the warden was asked to end the dance. */
    withdrawn: z.boolean(),
    notes: z.array(z.string()),
  }),
  async run(context, { id: given, state }) {
    const place = await wardenPlace(context, state);
    const { files } = place;
    let found = findWarrant(place, given);
    const { id, target } = found.warrant;
    const recordWithdrawal = () => {
      const about = { agent: personOf(context.here), warrant: id, target };
      files.record(context.now(), { room: "warden", event: "withdrawn", ...about });
    };
    if (found.state === "queued") {
      if (await files.withdrawQueued(id)) {
        recordWithdrawal();
        return { id, target, withdrawn: true, notes: [] };
      }
      found = findWarrant(place, given); // a dog has just taken it
    }
    if (found.state === "dancing" && (await files.askToWithdraw(id))) {
      recordWithdrawal();
      const notes = noWardenNotes(place, "the dance ends when one is");
      return { id, target, withdrawn: false, notes };
    }
    if (found.state === "dancing") found = findWarrant(place, given);
    if (found.state === "withdrawn") return { id, target, withdrawn: true, notes: [] };
    const message = `${id} can no longer be withdrawn: ${whyNot(found)}.`;
    throw new VivError("WRONG_STATE", message, { id, state: found.state });
  },
});

function whyNot(found: WarrantPlace): string {
  if (found.state === "over") {
    return found.receipt
      ? `its verdict is ${found.receipt.verdict}`
      : `it is ${found.record.ended}`;
  }
  return found.state === "dancing" ? `${found.dance.id} is ${found.dance.state}` : found.state;
}

function whyNoEpitaph(found: WarrantPlace): string {
  if ("record" in found) return `${found.record.dog} ended it for a pool before this one`;
  return found.state === "dancing" ? `${found.dance.id} is at it` : `it is ${found.state}`;
}

export const epitaph = defineOperation({
  name: "epitaph",
  summary: "how a warrant ended: verdict, attempts, screen, processes",
  input: idInput,
  changes: () => false,
  output: z.object({ text: z.string(), receipt: anything }),
  async run(context, { id, state }) {
    const place = await wardenPlace(context, state);
    const found = findWarrant(place, id);
    if (found.state !== "over" || !found.receipt) {
      const why = whyNoEpitaph(found);
      const message = `${found.warrant.id} has no epitaph: ${why}; see: viv warrant show ${found.warrant.id}${place.stateWords}`;
      throw new VivError("WRONG_STATE", message, { id, state: found.state });
    }
    const text =
      place.files.epitaph(found.warrant.id) ?? `${JSON.stringify(found.receipt, null, 2)}\n`;
    return { text, receipt: { ...found.receipt } };
  },
});

const fileInput = z.strictObject({
  session: text("a tmux session, by its name"),
  pid: count("a process, by its number"),
  worker: text("name of a worker (of --run)"),
  agent: text("name of an agent (a member of a crew, or an agent of viv up with --run PIT)"),
  reason: text("a note for the record (the reason in the receipt; never typed)"),
  by: text("your name, for the record (gets the verdict; default: $USER)"),
  shell: flag("the target is a shell: type each line as a comment"),
  close: flag("close the session when only a shell is left"),
  unasked: z.optional(
    z.enum(UNASKED).check(z.describe("verdict if it cannot be asked (default: the warden's)")),
  ),
  patience: text("time a tool call counts as work (default: the warden's, 30m)"),
  watch: list("files whose growth is progress"),
  socket: text("tmux socket (default: [warden] tmux_socket, or the user's)"),
  crew: text("the crew of --agent, by its state folder (default: the nearest .crew)"),
  force: flag("go on although a check refuses (the tmux server has no such session)"),
  state: stateFlag,
});
type Input = z.output<typeof fileInput>;

export const warrantFile = defineOperation({
  name: "warrant file",
  summary: "file a warrant: a dog asks the suspect, and ends it if it neither answers nor works",
  input: fileInput,
  output: z.object({
    id: z.string(),
    filed: z.boolean(),
    target: z.string(),
    kind: z.string(),
    path: z.string(),
    /** Its identity at the time of filing. */
    bound: z.nullable(anything),
    notes: z.array(z.string()),
  }),
  async run(context, given) {
    const place = await wardenPlace(context, given.state);
    const { files, ports, here } = place;
    const base: Warrant = {
      id: ports.newId(),
      ...targetFrom(given),
      reason: oneLine(given.reason) || "no reason given",
      requester: oneLine(given.by) || here.env.USER || "unknown",
      filed_at: new Date(context.now()).toISOString(),
      bound: null,
      watch: (given.watch ?? []).map((path) => resolve(here.cwd, path)),
      shell: given.shell === true,
      close: given.close || undefined,
      unasked: given.unasked,
      patience_ms: parseOptionalDuration(given.patience, "--patience"),
      ...{ socket: null, home: null },
    };
    const { warrant, notes: bindNotes } = await boundNow(base, given, context, place);
    const { filed, id } = await files.file(warrant, ownSocket(place));
    const notes = [
      ...(filed ? [] : [`${warrant.target} has an open warrant already`]),
      ...bindNotes,
      ...(filed ? queueNotes(id, place) : []),
      ...noWardenNotes(place, "start one"),
    ];
    const { target, kind, bound } = warrant;
    const path = `${files.folder}/warrants/${id}.json`;
    return { id, filed, target, kind, path, bound: bound && { ...bound }, notes };
  },
});

/** Why no dog takes it at once. */
function queueNotes(id: string, place: WardenPlace): string[] {
  const { pool, paused } = wardenNow(place);
  if (paused)
    return [`queued (pool paused: ${paused.why}); to go on: viv warden resume${place.stateWords}`];
  const { warrants } = place.files.queued();
  const before = warrants.findIndex((one) => one.id === id);
  if (before === -1 || place.files.dances().length < pool) return [];
  const first = before === 0 ? "it is the next" : `${before} before it`;
  return [`queued (pool exhausted): no free dog (pool of ${pool}), ${first}`];
}

function targetFrom({ session, pid, worker, agent }: Input): Pick<Warrant, "kind" | "target"> {
  const all = { tmux: session, pid: pid?.toString(), worker, agent };
  const [one, other] = TARGET_KINDS.flatMap((kind) => {
    const target = all[kind];
    return target === undefined ? [] : [{ kind, target }];
  });
  if (one === undefined || other !== undefined) {
    const which = "viv warrant file SESSION, or --pid N, --worker NAME or --agent NAME";
    const problem = one === undefined ? "no target" : "more than one target";
    throw new VivError("USAGE", `${problem}; name one: ${which}.`);
  }
  const isBad = one.target.trim() === "" || /\p{Cc}/u.test(one.target) || one.target.length > 2000;
  if (!isBad) return one;
  throw new VivError("INVALID", "the target's name is empty, too long or has control characters.");
}

/** With the identity that its target has now; else with a note that says why not. */
async function boundNow(
  base: Warrant,
  given: Input,
  context: Context,
  place: WardenPlace,
): Promise<{ warrant: Warrant; notes: string[] }> {
  if (base.kind === "worker" || base.kind === "agent") {
    const { home, found } = await resolved(base, given, context, place);
    return withBound({ ...base, home }, found, found.is === "there" ? found.watch : []);
  }
  const warrant = { ...base, socket: base.kind === "tmux" ? socketFor(given, place) : null };
  const found = await place.ports.bind(warrant);
  if (found.is === "gone" && found.isMissing === true && given.force !== true) {
    const hint = "--socket names another tmux server, --force files it all the same";
    const message = `${JSON.stringify(base.target)}: ${found.why} (${hint})`;
    throw new VivError("TARGET_NOT_FOUND", message, { target: base.target });
  }
  return withBound(warrant, found, []);
}

function withBound(warrant: Warrant, found: BindResult, watch: readonly string[]) {
  if (found.is !== "there") return { warrant, notes: [`${warrant.target}: ${found.why}`] };
  const all = [...new Set([...warrant.watch, ...watch])];
  return { warrant: { ...warrant, bound: found.bound, watch: all }, notes: [] };
}

function socketFor({ socket }: Input, place: WardenPlace): string | null {
  return socket === undefined ? (ownSocket(place) ?? null) : resolve(place.here.cwd, socket);
}

/** Of warrants that name no server. */
function ownSocket({ here, config }: WardenPlace): string | undefined {
  return config.tmuxSocket === undefined ? undefined : fromConfig(config.tmuxSocket, here);
}

async function resolved(
  { kind, target }: Warrant,
  given: Input,
  context: Context,
  place: WardenPlace,
): Promise<{ home: string; found: Resolved }> {
  const { ports } = place;
  const { machine, directory } = ports;
  if (kind === "agent") {
    const state = crewStateFor(given, place);
    const member = state && directory.crew(state).find(target);
    if (state && member) return { home: state, found: resolveAgent(member, machine) };
    if (state && given.crew !== undefined) {
      const why = `there is no member ${target} in the crew of ${state}`;
      return { home: state, found: { is: "gone", why } };
    }
  }
  const run = (await context.use(runPlacePort)).path;
  if (kind === "worker") {
    const store = await ports.openRun(run); // it rejects for a run that is not there
    try {
      return { home: run, found: await resolveWorker(store, target, machine) };
    } finally {
      await store.close();
    }
  }
  const agent = directory.fleet(run).find(target);
  const why = `there is no agent ${target} in a crew here, nor around ${run}`;
  return { home: run, found: agent ? resolveAgent(agent, machine) : { is: "gone", why } };
}

function crewStateFor(given: Input, { here, ports }: WardenPlace): string | null {
  if (given.crew !== undefined) return resolve(here.cwd, given.crew);
  const named = here.config && ports.crewState(here.config);
  return named === undefined ? ports.findCrew() : fromConfig(named, here);
}
