import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";
import { quoted } from "../../base/text.ts";
import { text } from "../../operation/fields.ts";
import type { Context, Here } from "../../operation/operation.ts";
import { parsePool, WARDEN_DEFAULTS, type WardenConfig, wardenSection } from "../config.ts";
import { DANCE_STATES, type Dance, type Receipt } from "../dance.ts";
import type { SeedRecord } from "../seed-dance.ts";
import type { WardenFiles } from "../warden-files.ts";
import { type WardenPorts, wardenPort } from "../warden-host.ts";
import { TARGET_KINDS, type Warrant } from "../warrant.ts";

export const stateFlag = text(
  "state folder (of the warden; default: [warden] state, or the user's)",
);

/** The warden that a command is about. */
export interface WardenPlace {
  here: Here;
  ports: WardenPorts;
  config: WardenConfig;
  files: WardenFiles;
  /** ` --state-dir DIR` for a command that a message names, if this one was given it. */
  stateWords: string;
}

/** By `--state-dir`, `[warden] state`, or the user's own. */
export async function wardenPlace(context: Context, given?: string): Promise<WardenPlace> {
  const { here } = context;
  const ports = await context.use(wardenPort);
  const config = here.config?.section(wardenSection) ?? WARDEN_DEFAULTS;
  if (given?.trim() === "")
    throw new VivError("USAGE", "--state-dir is empty; give it a directory.");
  const named = config.state === undefined ? ports.defaultState : fromConfig(config.state, here);
  const state = given === undefined ? named : resolve(here.cwd, atHome(given, here));
  const stateWords = given === undefined ? "" : ` --state-dir ${quoted(state)}`;
  return { here, ports, config, files: ports.filesIn(state), stateWords };
}

/** The person who acts, for the record. */
export function personOf({ env }: Here): string {
  return env.USER || "unknown";
}

function atHome(path: string, { env }: Here): string {
  return env.HOME && path.startsWith("~/") ? join(env.HOME, path.slice(2)) : path;
}

/** Absolute; written in viv.toml, so relative to its folder. */
export function fromConfig(path: string, here: Here): string {
  return resolve(here.config?.folder ?? here.cwd, atHome(path, here));
}

/** GT_DOG_POOL_SIZE, `[warden] pool`, or five. */
export function poolSize({ here, config }: WardenPlace): number {
  const size = here.env.GT_DOG_POOL_SIZE ?? "";
  return size.trim() === "" ? config.pool : parsePool(size, "GT_DOG_POOL_SIZE");
}

export const wardenShape = {
  up: z.boolean(),
  pid: z.nullable(z.number()),
  since: z.nullable(z.string()),
  pool: z.number(),
  timeouts_ms: z.array(z.number()),
  paused: z.nullable(z.object({ since: z.string(), by: z.string(), why: z.string() })),
};
type WardenNow = { [K in keyof typeof wardenShape]: z.output<(typeof wardenShape)[K]> };

/** The running warden of this folder; without one, the settings that it would have. */
export function wardenNow(place: WardenPlace): WardenNow {
  const { ports, files, config } = place;
  const last = files.warden();
  const isUp = last?.state === "up" && ports.machine.vitality(last) !== "gone";
  return {
    up: isUp,
    pid: isUp ? last.pid : null,
    since: last?.since ?? null,
    pool: isUp ? last.pool : poolSize(place),
    timeouts_ms: isUp ? last.timeouts_ms : [...config.timeoutsMs],
    paused: files.paused(),
  };
}

/** A note for commands that only a running warden carries out. */
export function noWardenNotes(place: WardenPlace, todo: string): string[] {
  if (wardenNow(place).up) return [];
  return [`no warden is up here; ${todo}: viv warden up${place.stateWords}`];
}

export const danceView = z.object({
  dog: z.string(),
  warrant: z.string(),
  target: z.string(),
  kind: z.enum(TARGET_KINDS),
  state: z.enum(DANCE_STATES),
  attempt: z.number(),
  attempts: z.number(),
  started_at: z.string(),
  next_timeout: z.nullable(z.string()),
  /** Null when it does not wait for an answer. */
  seconds_left: z.nullable(z.number()),
  reason: z.string(),
  requester: z.string(),
  /** Why its execution waits for a person; null when it does not. */
  held: z.nullable(z.string()),
});
export type DanceView = z.output<typeof danceView>;

/** The running dances, the oldest first. */
export function danceViews(place: WardenPlace, now: number): DanceView[] {
  const warden = wardenNow(place);
  const dances = place.files.dances().sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
  return dances.map((dance) => viewDance(dance, warden, now));
}

function viewDance(dance: Dance, { timeouts_ms, paused }: WardenNow, now: number): DanceView {
  const { id, warrant, state, attempt, started_at, next_timeout } = dance;
  const shown = dance.seed ?? state;
  const end = shown === "interrogating" ? Date.parse(next_timeout ?? "") : Number.NaN;
  return {
    ...{ dog: id, warrant: warrant.id, target: warrant.target, kind: warrant.kind },
    state: shown,
    ...{ attempt, attempts: Math.max(timeouts_ms.length, attempt), started_at, next_timeout },
    seconds_left: Number.isNaN(end) ? null : Math.max(0, Math.ceil((end - now) / 1000)),
    ...{ reason: warrant.reason, requester: warrant.requester },
    held: paused !== null && dance.held?.since === paused.since ? paused.why : null,
  };
}

/** Where a warrant is: it waits, a dog has it, it is over, or it was taken back. */
export type WarrantPlace =
  | { state: "queued"; warrant: Warrant }
  | { state: "dancing"; warrant: Warrant; dance: Dance }
  | { state: "over"; warrant: Warrant; receipt: Receipt }
  | { state: "over"; warrant: Warrant; receipt?: undefined; record: SeedRecord }
  | { state: "withdrawn"; warrant: Warrant };

/** By the warrant's id, its dog's, or the name of its file in the queue. */
export function findWarrant({ files, stateWords }: WardenPlace, id: string): WarrantPlace {
  // From the queue to a dance to its end: looked for in that order, it cannot slip through.
  const { warrants } = files.queued();
  const queued = warrants.find((one) => one.id === id) ?? files.warrantNamed(id);
  if (queued) return { state: "queued", warrant: queued };
  const dances = files.dances();
  const dance = dances.find((one) => one.warrant.id === id || one.id === id);
  if (dance) return { state: "dancing", warrant: dance.warrant, dance };
  const receipt = files.receipt(id) ?? files.receipts().find(({ warrant }) => warrant.id === id);
  if (receipt) return { state: "over", warrant: receipt.warrant, receipt };
  const record = files.seedRecord(id);
  if (record) return { state: "over", warrant: record.warrant, record };
  const withdrawn = files.withdrawn(id);
  if (withdrawn) return { state: "withdrawn", warrant: withdrawn };
  const known = [...warrants.map((one) => one.id), ...dances.map((one) => one.warrant.id)];
  const hint = didYouMean(id, known, `viv warrant ls${stateWords}`);
  const message = `there is no warrant ${JSON.stringify(id.slice(0, 128))} in ${files.folder}; ${hint}`;
  throw new VivError("WARRANT_NOT_FOUND", message, { id });
}

export function didYouMean(id: string, known: readonly string[], see: string): string {
  const meant = known.length <= 1000 ? suggest(id.slice(0, 128), known) : undefined;
  return meant ? `did you mean ${meant}?` : `see: ${see}`;
}
