import { resolve } from "node:path";
import * as z from "zod/mini";
import { parseOptionalDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { count, flag, list, text } from "../../operation/fields.ts";
import { type Context, defineOperation, runPathPort } from "../../operation/operation.ts";
import { wardenSection } from "../config.ts";
import { resolveAgent, resolveWorker } from "../resolve.ts";
import { oneLine, UNASKED, type Warrant } from "../warrant.ts";
import { fromConfig, stateFlag, type WardenPlace, wardenNow, wardenPlace } from "./place.ts";
import type { BindResult } from "./ports.ts";
import {
  danceView,
  findWarrant,
  sortedDances,
  viewDance,
  viewWarrant,
  type WarrantPlace,
  warrantView,
} from "./views.ts";

const anything = z.record(z.string(), z.unknown());
const idInput = z.strictObject({
  id: z.string().check(z.describe("the warrant, or its dog")),
  state: stateFlag,
});

const listOutput = z.object({
  warrants: z.array(warrantView),
  dances: z.array(danceView),
  bad: z.array(z.object({ name: z.string(), why: z.string() })),
});
export type WarrantList = z.output<typeof listOutput>;

async function listWarrants(context: Context, state?: string): Promise<WarrantList> {
  const place = await wardenPlace(context, state);
  const { warrants, bad } = place.files.queued();
  const now = context.now();
  return {
    warrants: warrants.map((one) => viewWarrant(one, now)),
    dances: sortedDances(place).map((one) => viewDance(one, wardenNow(place), now)),
    bad: bad.map(({ name, why }) => ({ name, why })),
  };
}

export const warrantLs = defineOperation({
  name: "warrant ls",
  summary: "the open warrants: active and queued, oldest first",
  input: z.strictObject({ state: stateFlag }),
  output: listOutput,
  run: (context, { state }) => listWarrants(context, state),
});

export const dogWarrants = defineOperation({
  name: "dog warrants",
  summary: "the queued warrants, oldest first",
  input: z.strictObject({ state: stateFlag }),
  output: z.object({ warrants: listOutput.shape.warrants, bad: listOutput.shape.bad }),
  async run(context, { state }) {
    const { files } = await wardenPlace(context, state);
    const { warrants, bad } = files.queued();
    const now = context.now();
    return {
      warrants: warrants.map((one) => viewWarrant(one, now)),
      bad: bad.map(({ name, why }) => ({ name, why })),
    };
  },
});

const showOutput = z.object({
  id: z.string(),
  state: z.enum(["queued", "dancing", "over", "withdrawn"]),
  warrant: anything,
  dance: z.optional(anything),
  receipt: z.optional(anything),
});

export const warrantShow = defineOperation({
  name: "warrant show",
  summary: "everything about one warrant: its target, its dance, its receipt",
  input: idInput,
  output: showOutput,
  async run(context, { id, state }) {
    const found = findWarrant(await wardenPlace(context, state), id);
    return {
      ...{ id: found.warrant.id, state: found.state, warrant: { ...found.warrant } },
      dance: found.state === "dancing" ? { ...found.dance } : undefined,
      receipt: found.state === "over" ? { ...found.receipt } : undefined,
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
    if (found.state === "queued") {
      if (await files.withdrawQueued(id)) return { id, target, withdrawn: true, notes: [] };
      found = findWarrant(place, given); // a dog has just taken it
    }
    if (found.state === "dancing" && (await files.askToWithdraw(id))) {
      const note = "no warden is up here; the dance ends when one is: viv warden up";
      return { id, target, withdrawn: false, notes: wardenNow(place).up ? [] : [note] };
    }
    if (found.state === "dancing") found = findWarrant(place, given);
    if (found.state === "withdrawn") return { id, target, withdrawn: true, notes: [] };
    throw new VivError("WRONG_STATE", `${id} can no longer be withdrawn: ${whyNot(found)}.`, {
      id,
      state: found.state,
    });
  },
});

function whyNot(found: WarrantPlace): string {
  if (found.state === "over") return `its verdict is ${found.receipt.verdict}`;
  return found.state === "dancing" ? `${found.dance.id} is ${found.dance.state}` : found.state;
}

export const epitaph = defineOperation({
  name: "epitaph",
  summary: "how a warrant ended: verdict, attempts, screen, processes",
  input: idInput,
  output: z.object({ text: z.string(), receipt: anything }),
  async run(context, { id, state }) {
    const place = await wardenPlace(context, state);
    const found = findWarrant(place, id);
    if (found.state !== "over") {
      const what =
        found.state === "dancing" ? `${found.dance.id} is at it` : `it is ${found.state}`;
      const message = `${found.warrant.id} has no epitaph: ${what}; see: viv warrant show ${found.warrant.id}`;
      throw new VivError("WRONG_STATE", message, { id, state: found.state });
    }
    const text =
      place.files.epitaph(found.warrant.id) ?? `${JSON.stringify(found.receipt, null, 2)}\n`;
    return { text, receipt: { ...found.receipt } };
  },
});

const input = z.strictObject({
  session: text("a tmux session, by its name"),
  pid: count("a process, by its number"),
  worker: text("a worker of a run (--run)"),
  agent: text("a member of a crew, or an agent of viv up (--run: its pit)"),
  reason: text("reason for the receipt; never typed (default: no reason given)"),
  by: text("requester, notified of the verdict (default: $USER)"),
  shell: flag("the target is a shell: type each line as a comment"),
  close: flag("close the session when only a shell is left"),
  unasked: z.optional(
    z.enum(UNASKED).check(z.describe("verdict if it cannot be asked (default: the warden's)")),
  ),
  patience: text("time a tool call counts as work (default: the warden's, 30m)"),
  watch: list("files whose growth is progress, separated by commas"),
  socket: text("tmux socket (default: the user's)"),
  crew: text("the state folder of the agent's crew (default: the nearest .crew)"),
  force: flag("file it even if the tmux server has no such session"),
  state: stateFlag,
});
type Input = z.output<typeof input>;

export const warrantFile = defineOperation({
  name: "warrant file",
  summary: "file a warrant: a dog asks the suspect, and ends it if it neither answers nor works",
  input,
  output: z.object({
    id: z.string(),
    filed: z.boolean(),
    target: z.string(),
    kind: z.string(),
    path: z.string(),
    /** What it was when it was filed. */
    bound: z.nullable(z.record(z.string(), z.unknown())),
    notes: z.array(z.string()),
  }),
  async run(context, given) {
    const place = await wardenPlace(context, given.state);
    const { files, ports, here } = place;
    const now = context.now();
    const base: Warrant = {
      id: ports.newId(),
      ...targetFrom(given),
      reason: oneLine(given.reason) || "no reason given",
      requester: oneLine(given.by) || here.env.USER || "unknown",
      filed_at: new Date(now).toISOString(),
      bound: null,
      watch: (given.watch ?? []).map((path) => resolve(here.cwd, path)),
      shell: given.shell === true,
      close: given.close || undefined,
      unasked: given.unasked,
      patience_ms: parseOptionalDuration(given.patience, "--patience"),
      socket: socketFor(given, place),
      home: null,
    };
    const { warrant, note } = await completed(base, given, context, place);
    const { filed, id } = await files.file(warrant);
    const notes = [
      ...(filed ? [] : [`${warrant.target} has an open warrant already`]),
      ...(note === null ? [] : [note]),
      ...(filed ? queueNotes(id, place) : []),
      ...(wardenNow(place).up ? [] : ["no warden is up here; start one: viv warden up"]),
    ];
    const { target, kind, bound } = warrant;
    const path = `${files.folder}/warrants/${id}.json`;
    return { id, filed, target, kind, path, bound: bound && { ...bound }, notes };
  },
});

/** Why no dog takes it at once. */
function queueNotes(id: string, place: WardenPlace): string[] {
  const { pool, paused } = wardenNow(place);
  if (paused) return [`queued (pool paused: ${paused.why}); to go on: viv warden resume`];
  const { warrants } = place.files.queued();
  const before = warrants.findIndex((one) => one.id === id);
  if (before === -1 || place.files.dances().length < pool) return [];
  const first = before === 0 ? "it is the next" : `${before} before it`;
  return [`queued (pool exhausted): no free dog (pool of ${pool}), ${first}`];
}

function targetFrom(given: Input): Pick<Warrant, "kind" | "target"> {
  const { session, pid, worker, agent } = given;
  const named = [
    ...(session === undefined ? [] : [{ kind: "tmux" as const, target: session }]),
    ...(pid === undefined ? [] : [{ kind: "pid" as const, target: String(pid) }]),
    ...(worker === undefined ? [] : [{ kind: "worker" as const, target: worker }]),
    ...(agent === undefined ? [] : [{ kind: "agent" as const, target: agent }]),
  ];
  const [one, other] = named;
  if (one === undefined || other !== undefined) {
    const which = "viv warrant file SESSION, or --pid N, --worker ID or --agent NAME";
    throw new VivError("USAGE", `${one === undefined ? "who" : "which of them"}? ${which}.`);
  }
  const isBad = one.target.trim() === "" || /\p{Cc}/u.test(one.target) || one.target.length > 2000;
  if (!isBad) return one;
  throw new VivError("INVALID", "the target's name is empty, too long or has control characters.");
}

function socketFor(given: Input, { here }: WardenPlace): string | null {
  if (given.socket !== undefined) return resolve(here.cwd, given.socket);
  const named = here.config?.section(wardenSection)?.tmuxSocket;
  return named === undefined ? null : fromConfig(named, here);
}

/** Binds it: what is meant is what is there now. */
async function completed(
  base: Warrant,
  given: Input,
  context: Context,
  place: WardenPlace,
): Promise<{ warrant: Warrant; note: string | null }> {
  const isTmux = base.kind === "tmux";
  const plain = isTmux ? base : { ...base, socket: null };
  if (isTmux || base.kind === "pid") {
    const found = await place.ports.bind(plain);
    if (found.is === "gone" && found.isMissing === true && given.force !== true) {
      const hint = "--socket names another tmux server, --force files it all the same";
      const message = `${JSON.stringify(plain.target)}: ${found.why} (${hint})`;
      throw new VivError("TARGET_NOT_FOUND", message, { target: plain.target });
    }
    return withBound(plain, found, []);
  }
  const { home, found } = await resolved(plain, given, context, place);
  return withBound({ ...plain, home }, found, found.is === "there" ? found.watch : []);
}

function withBound(warrant: Warrant, found: BindResult, watch: readonly string[]) {
  if (found.is !== "there") return { warrant, note: `${warrant.target}: ${found.why}` };
  const all = [...new Set([...warrant.watch, ...watch])];
  return { warrant: { ...warrant, bound: found.bound, watch: all }, note: null };
}

async function resolved(
  { kind, target }: Warrant,
  given: Input,
  context: Context,
  { here, ports }: WardenPlace,
) {
  const { machine } = ports;
  if (kind === "agent") {
    const state = crewStateFor(given, here, ports);
    const member = state && ports.directory.crew(state).find(target);
    if (state && member) return { home: state, found: resolveAgent(member, machine) };
    if (given.crew !== undefined) {
      const why = `there is no member ${target} in the crew of ${state}`;
      return { home: state, found: { is: "gone" as const, why } };
    }
  }
  const run = await context.use(runPathPort);
  if (kind === "agent") {
    const agent = ports.directory.fleet(run).find(target);
    const why = `there is no agent ${target} in a crew here, nor around ${run}`;
    const found = agent ? resolveAgent(agent, machine) : { is: "gone" as const, why };
    return { home: run, found };
  }
  const store = await ports.openRun(run);
  try {
    return { home: run, found: await resolveWorker(store, target, machine) };
  } finally {
    await store.close();
  }
}

function crewStateFor(given: Input, here: WardenPlace["here"], ports: WardenPlace["ports"]) {
  if (given.crew !== undefined) return resolve(here.cwd, given.crew);
  const named = here.config && ports.crewState(here.config);
  if (named !== undefined) return fromConfig(named, here);
  for (let folder = here.cwd; ; folder = resolve(folder, "..")) {
    if (ports.isThere(resolve(folder, ".crew"))) return resolve(folder, ".crew");
    if (resolve(folder, "..") === folder) return null;
  }
}
