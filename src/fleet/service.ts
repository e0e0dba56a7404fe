import { hostname } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { isName, MAX_NAME_LENGTH } from "../base/names.ts";
import { flag, list, text } from "../operation/fields.ts";
import type { Here } from "../operation/operation.ts";
import { commandLine, plainPath, quotedWord } from "../platform/systemd/systemd.ts";
import type { UnitFiles } from "../platform/systemd/unit-files.ts";
import { defineRunOperation, type RunContext } from "../queue/operation.ts";
import type { WorkInput } from "../work/operations/work.ts";
import { type Program, programPort, workerCheckPort } from "./ports.ts";

const input = z.strictObject({
  action: z.optional(z.enum(["install", "uninstall"]).check(z.describe("install or uninstall"))),
  worker_id: text("the worker's name (default: host and run)"),
  concurrency: z.optional(
    z.number().check(z.gte(1)).check(z.describe("concurrent tasks (default 1)")),
  ),
  handler: text("the executable for every task (default: the routes in viv.toml)"),
  types: list("take only tasks of these types"),
  grace: text("time for running tasks after a stop (default 60s)"),
  name: text("name of the units (default: the run's)"),
  unit_dir: text("folder of the units (default ~/.config/systemd/user)"),
  force: flag("replace other units of that name; remove enabled ones"),
});

type Input = z.output<typeof input>;

/** Of what units are called after. systemd allows 255 for all of a unit's name. */
const MAX_LENGTH = 100;

/** Units for the user's systemd. It only writes files: what starts them is for the user to run. */
export const service = defineRunOperation({
  name: "service",
  summary: "write or remove systemd units for a worker and a reaper",
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

export interface Installed {
  files: { path: string; status: "written" | "unchanged" }[];
  next: string[];
}

/** All of them or, where one would have to replace something else, none. */
export function installUnits(
  { folder, searched, name }: ServicePlace,
  units: readonly Unit[],
  force: boolean,
  files: UnitFiles,
): Installed {
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
  const written = found.map(({ path, text, old }): Installed["files"][number] => {
    if (old === text) return { path, status: "unchanged" };
    files.write(path, text);
    return { path, status: "written" };
  });
  const paths = found.map(({ path }) => inShell(path)).join(" ");
  const started = `${workerUnit(name)} ${timerUnit(name)}`;
  return {
    files: written,
    next: [
      ...(folder === searched ? [] : [`systemctl --user link ${paths}`]),
      "systemctl --user daemon-reload",
      `systemctl --user enable --now ${started}`,
      // What runs already does not hear of new settings by itself.
      ...(other ? [`systemctl --user restart ${started}`] : []),
      'loginctl enable-linger "$USER"',
      `journalctl --user -u ${workerUnit(name)} -f`,
    ],
  };
}

function inShell(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export interface Uninstalled {
  files: { path: string; status: "removed" | "absent" }[];
  next: string[];
}

/** Removes what `installUnits` writes, and nothing else. */
export function uninstallUnits(
  place: ServicePlace,
  runDir: string,
  force: boolean,
  files: UnitFiles,
): Uninstalled {
  const { name, folder } = place;
  const units = [workerUnit(name), reapUnit(name), timerUnit(name)];
  const paths = units.map((unit) => join(folder, unit));
  if (!force) {
    refuseOthers(paths, runDir, files);
    refuseEnabled(place, files);
  }
  const removed = paths.map((path): Uninstalled["files"][number] => ({
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
  throw new VivError(
    "WRONG_STATE",
    `${other} was not made for the run ${runDir}; look at it, then --force removes it.`,
    { path: other },
  );
}

/** Without its file systemd would keep a unit running, and no longer know what it enabled. */
function refuseEnabled({ name, folder, searched }: ServicePlace, files: UnitFiles): void {
  const units = [workerUnit(name), timerUnit(name)];
  const links = ["default.target.wants", "timers.target.wants"].flatMap((wants) =>
    units.flatMap((unit) => [folder, searched].map((at) => join(at, wants, unit))),
  );
  if (!links.some((link) => files.isThere(link))) return;
  const before = `systemctl --user disable --now ${units.join(" ")}`;
  throw new VivError("WRONG_STATE", `the units are enabled; first run: ${before}`, {
    before: [before],
  });
}

/** What the units of one run are made from. Paths are absolute. */
export interface ServicePlan {
  name: string;
  runDir: string;
  /** Where the worker starts: its handlers do, too. */
  folder: string;
  node: string;
  viv: string;
  /** PATH for handlers: the user manager's own has little in it. Nothing else is handed on. */
  path: string;
  /** `viv work` without the run. */
  workArgs: readonly string[];
  graceMs: number;
}

/** Where the units of one run are. */
export interface ServicePlace {
  /** What they are called after. */
  name: string;
  folder: string;
  /** Where systemd looks for the user's units by itself. */
  searched: string;
}

export interface Unit {
  name: string;
  text: string;
}

/** From the end of the grace until handlers were killed and their tasks released. */
const AFTER_GRACE_SECONDS = 20;

/** The worker, and a timer that gives back what dead workers hold, also when no worker runs. */
export function unitsFor(plan: ServicePlan): Unit[] {
  const { name, runDir, viv, node, workArgs, graceMs } = plan;
  const run = (verb: string, ...args: string[]) =>
    commandLine([node, viv, verb, "--run", runDir, ...args]);
  const stopSeconds = Math.ceil(graceMs / 1000) + AFTER_GRACE_SECONDS;
  return [
    unit(workerUnit(name), runDir, [
      "[Unit]",
      `Description=viv worker of ${name}`,
      "",
      "[Service]",
      `ExecStart=${run("work", ...workArgs)}`,
      ...surroundings(plan),
      "Restart=on-failure",
      "RestartSec=10",
      "# Wrong usage, or no such run: another start does not help.",
      "RestartPreventExitStatus=2 3",
      "# The worker ends its handlers itself; what is left after the time is killed.",
      "KillMode=mixed",
      `TimeoutStopSec=${stopSeconds}`,
      "# A handler that takes too much memory does not stop the others.",
      "OOMPolicy=continue",
      "",
      "[Install]",
      "WantedBy=default.target",
    ]),
    unit(reapUnit(name), runDir, [
      "[Unit]",
      `Description=viv reap for ${name}`,
      "",
      "[Service]",
      "Type=oneshot",
      `ExecStart=${run("reap")}`,
      ...surroundings(plan),
    ]),
    unit(timerUnit(name), runDir, [
      "[Unit]",
      `Description=viv reap for ${name}, every minute`,
      "",
      "[Timer]",
      "OnCalendar=minutely",
      "AccuracySec=10s",
      "",
      "[Install]",
      "WantedBy=timers.target",
    ]),
  ];
}

export function workerUnit(name: string): string {
  return `viv-worker-${name}.service`;
}

export function reapUnit(name: string): string {
  return `viv-reap-${name}.service`;
}

export function timerUnit(name: string): string {
  return `viv-reap-${name}.timer`;
}

/** The first line: a unit that has it was made for this run. */
export function markOf(runDir: string): string {
  return `# Made by \`viv service install\` for the run ${JSON.stringify(runDir)}.`;
}

function unit(name: string, runDir: string, lines: readonly string[]): Unit {
  return { name, text: [markOf(runDir), "", ...lines, ""].join("\n") };
}

function surroundings({ folder, path }: ServicePlan): string[] {
  return [
    `WorkingDirectory=${plainPath(folder, "the folder")}`,
    `Environment=${quotedWord(`PATH=${path}`, "the variable")}`,
  ];
}
