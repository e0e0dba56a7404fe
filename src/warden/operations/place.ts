import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { text } from "../../operation/fields.ts";
import type { Context, Here } from "../../operation/operation.ts";
import { MAX_POOL, parsePool, WARDEN_DEFAULTS, wardenSection } from "../config.ts";
import type { WardenFiles } from "../files.ts";
import { type WardenPorts, wardenPort } from "./ports.ts";

export const stateFlag = text("the warden's state folder (default [warden] state, or the user's)");

export interface WardenPlace {
  here: Here;
  ports: WardenPorts;
  files: WardenFiles;
}

/** The warden that a command is about: `--state`, `[warden] state`, or the user's own. */
export async function wardenPlace(context: Context, given?: string): Promise<WardenPlace> {
  const { here } = context;
  const ports = await context.use(wardenPort);
  return { here, ports, files: ports.filesIn(stateOf(here, ports, given)) };
}

function stateOf(here: Here, ports: WardenPorts, given: string | undefined): string {
  if (given !== undefined) {
    if (given.trim() === "") throw new VivError("USAGE", "--state is empty; give it a directory.");
    return resolve(here.cwd, atHome(given, here));
  }
  const named = here.config?.section(wardenSection)?.state;
  if (here.config && named !== undefined) return resolve(here.config.folder, atHome(named, here));
  return ports.defaultState;
}

function atHome(path: string, { env }: Here): string {
  return env.HOME && path.startsWith("~/") ? join(env.HOME, path.slice(2)) : path;
}

/** Absolute; written in viv.toml, so relative to its folder. */
export function fromConfig(path: string, here: Here): string {
  return resolve(here.config?.folder ?? here.cwd, atHome(path, here));
}

/** `--pool`, GT_DOG_POOL_SIZE, `[warden] pool`, or five. */
export function poolFor(here: Here, given?: number): number {
  if (given !== undefined) return given;
  const size = here.env.GT_DOG_POOL_SIZE;
  if (size !== undefined && size.trim() !== "") return parsePool(size, "GT_DOG_POOL_SIZE");
  return here.config?.section(wardenSection)?.pool ?? WARDEN_DEFAULTS.pool;
}

export const poolFlag = z.optional(
  z
    .int()
    .check(z.gte(1), z.lte(MAX_POOL))
    .check(z.describe(`how many dogs (default 5, at most ${MAX_POOL})`)),
);

export interface WardenNow {
  up: boolean;
  pid: number | null;
  since: string | null;
  pool: number;
  timeouts_ms: number[];
  paused: { since: string; by: string; why: string } | null;
}

/** Who keeps this folder now; what it would have, when nobody does. */
export function wardenNow({ here, ports, files }: WardenPlace): WardenNow {
  const said = files.warden();
  const isUp = said?.state === "up" && ports.machine.vitality(said) !== "gone";
  const config = here.config?.section(wardenSection);
  return {
    up: isUp,
    pid: isUp ? said.pid : null,
    since: said?.since ?? null,
    pool: isUp ? said.pool : poolFor(here),
    timeouts_ms: isUp ? said.timeouts_ms : (config?.timeoutsMs ?? WARDEN_DEFAULTS.timeoutsMs),
    paused: files.paused(),
  };
}

export const wardenShape = {
  up: z.boolean(),
  pid: z.nullable(z.number()),
  since: z.nullable(z.string()),
  pool: z.number(),
  timeouts_ms: z.array(z.number()),
  paused: z.nullable(z.object({ since: z.string(), by: z.string(), why: z.string() })),
};
