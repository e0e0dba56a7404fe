import { hostname } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { parseDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { isName, MAX_NAME_LENGTH } from "../../base/names.ts";
import { flag, list, text } from "../../operation/fields.ts";
import type { Here } from "../../operation/operation.ts";
import type { UnitFiles } from "../../platform/systemd/unit-files.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import type { WorkInput } from "../../work/operations/work.ts";
import { type Program, programPort, workerCheckPort } from "../ports.ts";
import { installUnits } from "./service-install.ts";
import { uninstallUnits } from "./service-uninstall.ts";
import { type ServicePlace, type Unit, unitsFor } from "./service-units.ts";

const input = z.strictObject({
  action: z.optional(z.enum(["install", "uninstall"]).check(z.describe("install or uninstall"))),
  worker_id: text("the worker's name (default: host and run)"),
  concurrency: z.optional(
    z.number().check(z.gte(1)).check(z.describe("how many tasks at a time (default 1)")),
  ),
  handler: text("the executable for every task (default: the routes in viv.toml)"),
  types: list("take only tasks of these types"),
  grace: text("when it is stopped, let tasks run for so long (default 60s)"),
  name: text("what the units are called after (default: the run)"),
  unit_dir: text("where the units go (default ~/.config/systemd/user)"),
  force: flag("replace other units of that name; remove enabled ones"),
});

type Input = z.output<typeof input>;

/** Of what units are called after. systemd allows 255 for all of a unit's name. */
const MAX_LENGTH = 100;

/** Units for the user's systemd. It only writes files: what starts them is for the user to run. */
export const service = defineRunOperation({
  name: "service",
  summary: "a worker and a reaper that systemd keeps running: write their units, or remove them",
  access: "read",
  input,
  output: z.object({
    files: z.array(
      z.object({
        path: z.string(),
        status: z.enum(["written", "unchanged", "removed", "absent"]),
      }),
    ),
    next: z.array(z.string()),
  }),
  async run(context, given) {
    const { here } = context;
    const program = await context.use(programPort);
    if (given.action === undefined) {
      throw new VivError("USAGE", "viv service needs a word: viv service install, or uninstall.");
    }
    const files = await program.unitFiles();
    const place = placeFor(context, given, here);
    const force = given.force === true;
    if (given.action === "uninstall") {
      return uninstallUnits(place, context.store.location, force, files);
    }
    const units = await plannedUnits(context, given, program, place.name, files);
    return installUnits(place, units, force, files);
  },
});

function placeFor({ store }: RunContext, given: Input, { env, cwd }: Here): ServicePlace {
  const home = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, ".config") : undefined);
  const searched = home === undefined ? undefined : resolve(cwd, home, "systemd/user");
  const folder = given.unit_dir ? resolve(cwd, given.unit_dir) : searched;
  if (folder === undefined) {
    throw new VivError("USAGE", "HOME is not set, so say where the units go: --unit-dir DIR");
  }
  const name = given.name ?? asName(store.runId, MAX_LENGTH);
  if (!isName(name) || name.length > MAX_LENGTH) {
    throw new VivError(
      "INVALID",
      `--name may have up to ${MAX_LENGTH} letters, digits, . _ and -.`,
    );
  }
  return { name, folder, searched: searched ?? folder };
}

async function plannedUnits(
  context: RunContext,
  given: Input,
  { node, viv }: Program,
  name: string,
  files: UnitFiles,
): Promise<Unit[]> {
  const { here } = context;
  const { handler, types, concurrency, grace = "60s" } = given;
  const work: WorkInput = {
    worker_id: given.worker_id ?? asName(`${hostname()}-${name}`, MAX_NAME_LENGTH),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(handler === undefined ? {} : { handler: programAt(handler, here.cwd, files) }),
    ...(types === undefined ? {} : { types }),
    grace,
  };
  // A mistake in the flags is found now, by `viv work` itself, and not in the night.
  const check = await context.use(workerCheckPort);
  await check(context, work);
  return unitsFor({
    name,
    runDir: context.store.location,
    folder: here.config?.folder ?? here.cwd,
    node,
    viv,
    path: here.env.PATH || "/usr/local/bin:/usr/bin:/bin",
    workArgs: asFlags(work),
    graceMs: parseDuration(grace, "--grace"),
  });
}

/** `worker_id: "w"` is `--worker-id=w`: with its value in one word, which may begin with a dash. */
function asFlags(work: WorkInput): string[] {
  return Object.entries(work).map(([key, value]) => {
    const shown = Array.isArray(value) ? value.join(",") : String(value);
    return `--${key.replaceAll("_", "-")}=${shown}`;
  });
}

/** The unit starts elsewhere, so that only a plain name, for PATH, stays as it is. */
function programAt(handler: string, cwd: string, files: UnitFiles): string {
  const path = resolve(cwd, handler);
  if (files.isThere(path)) return path;
  if (!handler.includes("/")) return handler;
  throw new VivError("INVALID", `there is no handler at ${path}.`);
}

/** A name for units and workers, out of one that may be anything. */
function asName(given: string, length: number): string {
  const name = given.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+/, "");
  return name.slice(0, length) || "run";
}
