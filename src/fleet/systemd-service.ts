import { hostname } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { isName, MAX_NAME_LENGTH } from "../base/names.ts";
import { quoted } from "../base/text.ts";
import { flag, list, text } from "../operation/fields.ts";
import { stateFolder } from "../platform/files/state-files.ts";
import { commandLine, plainPath, quotedWord } from "../platform/systemd/systemd.ts";
import type { UnitFiles } from "../platform/systemd/unit-files.ts";
import { defineRunOperation, type RunContext } from "../queue/operation.ts";
import type { WorkInput } from "../work/operations/work.ts";
import {
  fleetUnitFor,
  markOf,
  reapUnit,
  timerUnit,
  type Unit,
  unitsFor,
  upUnit,
  workerUnit,
} from "./systemd-units.ts";
import { programPort, workerCheckPort } from "./up-ports.ts";

const input = z.strictObject({
  action: z.optional(z.enum(["install", "uninstall"]).check(z.describe("install or uninstall"))),
  fleet: flag("viv up with all its parts, instead of a worker and a reaper"),
  worker_id: text("name of a worker (default: host and run)"),
  concurrency: z.optional(
    z.number().check(z.gte(1)).check(z.describe("concurrent tasks (default: 1)")),
  ),
  handler: text("the executable for every task (default: the routes in viv.toml)"),
  types: list("only tasks of these types"),
  grace: text("time for running tasks after a stop (default: 60s)"),
  name: text("name of the units (default: the run's)"),
  unit_dir: text("folder of the units (default: ~/.config/systemd/user)"),
  force: flag("go on although a check refuses (replaces other units, removes enabled ones)"),
});

type Input = z.output<typeof input>;

const output = z.object({
  files: z.array(
    z.object({ path: z.string(), status: z.enum(["written", "unchanged", "removed", "absent"]) }),
  ),
  /** Commands for the user to run. */
  next: z.array(z.string()),
});

type Output = z.output<typeof output>;

/** Of the name in the names of units. systemd allows 255 for all of a unit's name. */
const MAX_LENGTH = 100;

/** Units for the user's systemd. It only writes files: starting them is left to the user. */
export const service = defineRunOperation({
  name: "service",
  summary: "write or remove systemd units for a worker and a reaper, or for viv up",
  access: "read",
  input,
  output,
  async run(context, given) {
    const program = await context.use(programPort);
    const other = OF_WORKERS.find((key) => given[key] !== undefined);
    if (given.fleet && other !== undefined) {
      const flag = `--${other.replace("worker_id", "worker")}`;
      throw new VivError("USAGE", `${flag} does not go with --fleet: viv.toml says what runs.`);
    }
    if (given.action === undefined) {
      throw new VivError("USAGE", "viv service needs a word: viv service install, or uninstall.");
    }
    const files = await program.unitFiles();
    const place = placeFor(context, given);
    if (given.action === "uninstall") {
      return uninstallUnits(place, given.fleet === true, given.force === true, files);
    }
    const units = await plannedUnits(context, given, [program.node, program.viv], place, files);
    return installUnits(place, units, given.force === true, files);
  },
});

const OF_WORKERS = ["worker_id", "concurrency", "handler", "types"] as const;

/** Where the units of one run are. */
interface ServicePlace {
  /** The middle of their names. */
  name: string;
  folder: string;
  /** The folder that systemd searches for the user's units. */
  searched: string;
  runDir: string;
}

function placeFor({ store, here }: RunContext, given: Input): ServicePlace {
  const { env, cwd } = here;
  const home = env.XDG_CONFIG_HOME || (env.HOME ? join(env.HOME, ".config") : undefined);
  const searched = home === undefined ? undefined : resolve(cwd, home, "systemd/user");
  const folder = given.unit_dir ? resolve(cwd, given.unit_dir) : searched;
  if (folder === undefined) {
    throw new VivError("USAGE", "HOME is not set; name the folder of the units: --unit-dir DIR");
  }
  const name = given.name ?? asName(store.runId, MAX_LENGTH);
  if (!isName(name) || name.length > MAX_LENGTH) {
    const message = `--name may have up to ${MAX_LENGTH} letters, digits, . _ and -.`;
    throw new VivError("INVALID", message);
  }
  return { name, folder, searched: searched ?? folder, runDir: store.location };
}

async function plannedUnits(
  context: RunContext,
  { fleet, worker_id, concurrency, handler, types, grace = "60s" }: Input,
  viv: readonly string[],
  place: ServicePlace,
  files: UnitFiles,
): Promise<Unit[]> {
  const { here } = context;
  // The user manager's own PATH is short. With another state folder it would have another token, gate and
  // accounts than the commands that are typed. No other variable is passed on.
  const { PATH, VIV_STATE, XDG_STATE_HOME } = here.env;
  const state = VIV_STATE || XDG_STATE_HOME ? [`VIV_STATE=${stateFolder(here.env, here.cwd)}`] : [];
  const variables = [`PATH=${PATH || "/usr/local/bin:/usr/bin:/bin"}`, ...state];
  const run = (verb: string, ...args: string[]) => [
    `ExecStart=${commandLine([...viv, verb, "--run", place.runDir, ...args])}`,
    `WorkingDirectory=${plainPath(here.config?.folder ?? here.cwd, "the folder")}`,
    ...variables.map((one) => `Environment=${quotedWord(one, "the variable")}`),
  ];
  const graceSeconds = Math.ceil(parseDuration(grace, "--grace") / 1000);
  if (fleet) {
    const up = run("up", `--grace=${grace}`, "--json");
    return [fleetUnitFor(place, up, graceSeconds + AFTER_GRACE_OF_FLEET_SECONDS)];
  }
  const work: WorkInput = {
    worker_id: worker_id ?? asName(`${hostname()}-${place.name}`, MAX_NAME_LENGTH),
    concurrency,
    handler: handler === undefined ? undefined : programAt(handler, here.cwd, files),
    types,
    grace,
  };
  // `viv work` itself finds mistakes in the flags, before the unit first starts.
  const check = await context.use(workerCheckPort);
  await check(context, work);
  const stopSeconds = graceSeconds + AFTER_GRACE_SECONDS;
  return unitsFor(place, run("work", ...asFlags(work)), run("reap"), stopSeconds);
}

/** `worker_id: "w"` is `--worker-id=w`: with its value in one word, which may begin with a dash. */
function asFlags(work: WorkInput): string[] {
  return Object.entries(work).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const shown = Array.isArray(value) ? value.join(",") : String(value);
    return [`--${key.replaceAll("_", "-")}=${shown}`];
  });
}

/** The unit starts in another folder, so only a plain name, for PATH, stays as it is. */
function programAt(handler: string, cwd: string, files: UnitFiles): string {
  const path = resolve(cwd, handler);
  if (files.isThere(path)) return path;
  if (!handler.includes("/")) return handler;
  throw new VivError("INVALID", `there is no handler at ${path}.`);
}

/** A name for units and workers, made from any text. */
function asName(given: string, length: number): string {
  const name = given.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+/, "");
  return name.slice(0, length) || "run";
}

/** All of them or, where one would have to replace other content, none. */
function installUnits(
  { folder, searched }: ServicePlace,
  units: readonly Unit[],
  force: boolean,
  files: UnitFiles,
): Output {
  const found = units.map((unit) => {
    const path = join(folder, unit.name);
    return { path, text: unit.text, old: files.read(path) };
  });
  const other = found.find(({ old, text }) => old !== null && old !== text);
  if (other && !force) {
    throw new VivError(
      "WRONG_STATE",
      `${other.path} is there with other content; --force replaces it, --name NAME makes another.`,
      { path: other.path },
    );
  }
  const written = found.map(({ path, text, old }): Output["files"][number] => {
    if (old === text) return { path, status: "unchanged" };
    files.write(path, text);
    return { path, status: "written" };
  });
  const paths = found.map(({ path }) => quoted(path)).join(" ");
  const started = units.filter(({ isStarted }) => isStarted).map((unit) => unit.name);
  return {
    files: written,
    next: [
      ...(folder === searched ? [] : [`systemctl --user link ${paths}`]),
      "systemctl --user daemon-reload",
      `systemctl --user enable --now ${started.join(" ")}`,
      // A running unit keeps its old settings until then.
      ...(other ? [`systemctl --user restart ${started.join(" ")}`] : []),
      'loginctl enable-linger "$USER"',
      `journalctl --user -u ${started[0]} -f`,
    ],
  };
}

/** Removes the files that `installUnits` writes, and no others. */
function uninstallUnits(
  place: ServicePlace,
  isFleet: boolean,
  force: boolean,
  files: UnitFiles,
): Output {
  const { name, folder } = place;
  const ofWorker = [workerUnit(name), timerUnit(name), reapUnit(name)];
  const units = isFleet ? [upUnit(name)] : ofWorker;
  const paths = units.map((unit) => join(folder, unit));
  if (!force) {
    refuseOthers(paths, place.runDir, files);
    refuseEnabled(place, isFleet ? units : ofWorker.slice(0, 2), files);
  }
  const removed = paths.map((path): Output["files"][number] => ({
    path,
    status: files.remove(path) ? "removed" : "absent",
  }));
  return { files: removed, next: ["systemctl --user daemon-reload"] };
}

/** Of another run with the same name, or written by hand. */
function refuseOthers(paths: readonly string[], runDir: string, files: UnitFiles): void {
  const mark = `${markOf(runDir)}\n`;
  const other = paths.find((path) => !(files.read(path) ?? mark).startsWith(mark));
  if (other === undefined) return;
  const message = `${other} was not made for the run ${runDir}; look at it, then --force removes it.`;
  throw new VivError("WRONG_STATE", message, { path: other });
}

/** Without its file systemd keeps a unit running, and cannot disable it any more. */
function refuseEnabled(
  { folder, searched }: ServicePlace,
  units: readonly string[],
  files: UnitFiles,
): void {
  const links = ["default.target.wants", "timers.target.wants"].flatMap((target) =>
    units.flatMap((unit) => [folder, searched].map((at) => join(at, target, unit))),
  );
  if (!links.some((link) => files.isThere(link))) return;
  const before = `systemctl --user disable --now ${units.join(" ")}`;
  const details = { before: [before] };
  throw new VivError("WRONG_STATE", `the units are enabled; first run: ${before}`, details);
}

/** From the end of the grace until handlers were killed and their tasks released. */
const AFTER_GRACE_SECONDS = 20;
/** The same, and until `viv up` has killed what does not end within 30 s. */
const AFTER_GRACE_OF_FLEET_SECONDS = 40;
