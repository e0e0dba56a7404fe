import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Machine } from "../../base/clock.ts";
import { VivError } from "../../base/errors.ts";
import { newTaskId } from "../../base/id.ts";
import { isName } from "../../base/names.ts";
import { guard, mkdirSync, release } from "../../platform/files/beneath.ts";
import { remedyFor, whyNotOurs } from "../../platform/files/owned.ts";
import type { Durability } from "../store.ts";
import { setAside } from "./files/aside.ts";
import { errno, statIfThere, syncFolder, translate } from "./files/atomic.ts";
import { NoteFiles } from "./files/note-files.ts";
import { Syncs } from "./files/syncs.ts";
import { LaneWriter } from "./lanes/lanes.ts";
import { foldersOf, type LayoutOffer, type Paths, pathsOf } from "./layout.ts";
import { LedgerWriter } from "./record/ledger.ts";
import { noteBoot, recoverIfLost, recoverInTurn } from "./record/recover.ts";
import { createStatus, readStatusLeniently } from "./record/status.ts";
import { type FsRun, newMemo, ownName } from "./run.ts";
import { RUN_OFFER } from "./run-layout.ts";

export interface OpenOptions {
  /** Make the run when there is none (default false: a typo must not make a new, empty run). */
  create?: boolean;
  /** Only look: create nothing, so that a run on a read-only disk can be read. */
  readOnly?: boolean;
  durability?: Durability;
  onDependencyFailed?: "wait" | "fail";
  /** For a new run; otherwise the folder's name. */
  runId?: string;
  /** The kind of a new one (default: a run). One that is there must be of this kind. */
  layout?: string;
  /** swarm-lib's runs have a status.json only when it was made explicitly. */
  withoutStatus?: boolean;
}

/** `layouts`: those that a run may have besides swarm-lib's. */
export async function openFsRun(
  path: string,
  machine: Machine,
  options: OpenOptions = {},
  layouts: readonly LayoutOffer[] = [],
): Promise<FsRun> {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new VivError("INVALID", "the path of a run must be a non-empty text without NUL.");
  }
  try {
    return await open(path, machine, options, [RUN_OFFER, ...layouts]);
  } catch (error) {
    if (errno(error) === "ENAMETOOLONG") {
      throw new VivError("INVALID", "the path of the run is too long.", {}, { cause: error });
    }
    throw translate(error, `opening ${path}`);
  }
}

async function open(
  path: string,
  machine: Machine,
  options: OpenOptions,
  layouts: readonly LayoutOffer[],
): Promise<FsRun> {
  const madeRoots: string[] = [];
  const { layout: kind = RUN_OFFER.kind } = options;
  const wanted = layouts.find((one) => one.kind === kind);
  if (wanted === undefined)
    throw new VivError("INVALID", `unknown layout ${JSON.stringify(kind)}.`);
  const root = options.create ? makeRoot(path, wanted, madeRoots) : findRoot(path, wanted);
  const found = layoutAt(root, layouts) ?? wanted;
  if (options.layout !== undefined && options.layout !== found.kind) {
    const sign = `it has a ${found.signs[0]}/ folder`;
    throw new VivError(
      "RUN_INVALID",
      `${path} is a ${found.kind} already (${sign}); choose another folder.`,
      { path },
    );
  }
  const paths = pathsOf(root, await found.load());
  const isNew = statIfThere(paths.state.pending) === undefined;
  if (isNew && !options.create) {
    const kinds = options.layout === undefined ? layouts : [wanted];
    const missing = kinds.map(({ kind, signs }) => `not a ${kind} (no ${signs[0]}/ folder)`);
    throw new VivError(
      "RUN_NOT_FOUND",
      `${path} is ${missing.join(" and ")}; ${wanted.howToMake(path)}`,
      { path },
    );
  }
  const durability = options.durability ?? "safe";
  const links = durability === "safe" && !options.readOnly ? "strict" : "loose";
  guard(root, links);
  try {
    const made = prepareFolders(paths, !options.readOnly);
    return await openGuarded(paths, machine, options, {
      isNew,
      links,
      made: [...madeRoots, ...made],
    });
  } catch (error) {
    release(root, links);
    throw error;
  }
}

async function openGuarded(
  paths: Paths,
  machine: Machine,
  options: OpenOptions,
  { isNew, links, made }: { isNew: boolean; links: FsRun["links"]; made: readonly string[] },
): Promise<FsRun> {
  const { root, layout } = paths;
  const status = readStatusLeniently(paths);
  const runId = status?.run_id ?? options.runId ?? runIdFromFolder(root);
  const memo = newMemo();
  const run: FsRun = {
    paths,
    runId,
    machine,
    durability: options.durability ?? "safe",
    links,
    readOnly: options.readOnly === true,
    onDependencyFailed: options.onDependencyFailed ?? "wait",
    ledger: new LedgerWriter(paths.ledger),
    lanes: new LaneWriter(paths.lanes),
    notes: new NoteFiles(paths.processes, () => ownName(memo, Math.random)),
    syncs: new Syncs(),
    random: Math.random,
    newId: () => newTaskId(machine.clock.now(), Math.random),
    memo,
    recoverIfLost: () => recoverIfLost(run),
    hooks: layout.hooks,
  };
  try {
    if (!options.readOnly) run.lanes.prepare();
    if (isNew) noteBoot(run);
    else await recoverInTurn(run);
    if (isNew && !options.withoutStatus) createStatus(run, runId);
    if (run.durability === "safe") syncParents(made);
    return run;
  } catch (error) {
    run.lanes.close();
    run.ledger.close();
    throw error;
  }
}

/** So that what is acknowledged later does not hang on a name that a power cut takes back. */
function syncParents(made: readonly string[]): void {
  for (const folder of new Set(made.map((one) => dirname(one)))) syncFolder(folder);
}

/** The layout of a directory, or null. The first one counts if it has the folders of several. */
function layoutAt(root: string, layouts: readonly LayoutOffer[]): LayoutOffer | null {
  const has = (folder: string) => statIfThere(join(root, folder)) !== undefined;
  return layouts.find(({ signs }) => signs.every(has)) ?? null;
}

/** Which of these layouts a directory has; null: none, or swarm-lib's. */
export function findLayout(root: string, layouts: readonly LayoutOffer[]): LayoutOffer | null {
  const found = layoutAt(root, [RUN_OFFER, ...layouts]);
  return found === RUN_OFFER ? null : found;
}

function findRoot(path: string, wanted: LayoutOffer): string {
  try {
    const root = realpathSync(path);
    if (lstatSync(root).isDirectory()) return root;
  } catch (error) {
    if (errno(error) === "ENOENT") {
      throw new VivError(
        "RUN_NOT_FOUND",
        `there is no ${wanted.kind} at ${path}; ${wanted.howToMake(path)}`,
        { path },
      );
    }
    if (errno(error) !== "ENOTDIR") throw error;
  }
  throw new VivError("RUN_INVALID", `${path} is a file, not a run directory, or lies below one.`, {
    path,
  });
}

function makeRoot(path: string, wanted: LayoutOffer, made: string[]): string {
  const absolute = resolve(path);
  const there = statIfThere(absolute);
  if (there) return findRoot(path, wanted);
  try {
    makeWithParents(absolute, made);
    return realpathSync(absolute);
  } catch (error) {
    if (errno(error) === "ENOTDIR" || errno(error) === "EEXIST") {
      throw new VivError("RUN_INVALID", `${dirname(absolute)} is not a folder.`, { path });
    }
    throw translate(error, `creating ${path}`);
  }
}

/** Not mkdir's own recursion: node's never ends where a folder can be looked at but not made. */
function makeWithParents(path: string, made: string[]): void {
  const missing: string[] = [];
  for (let folder = path; !statIfThere(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
      made.push(folder);
    } catch (error) {
      if (errno(error) === "EEXIST") continue; // another process made it a moment ago
      if (errno(error) !== "ENOENT") throw error;
      throw new VivError(
        "RUN_INVALID",
        `no folder can be made at ${folder}; put the run elsewhere.`,
      );
    }
  }
}

/**
 * Makes what is missing and checks what is there, parents first: nothing is made below a link. A
 * rename is atomic only within one filesystem, and a link would let it leave the run.
 */
function prepareFolders(paths: Paths, make: boolean): string[] {
  let device: number | undefined;
  const made: string[] = [];
  for (const folder of foldersOf(paths)) {
    let stats = statIfThere(folder);
    // What is derived is rebuilt, whatever lies in its place.
    const isInTheWay =
      stats !== undefined && !stats.isDirectory() && isDerivedFolder(paths, folder);
    if (isInTheWay && make && setAside(folder, "not a folder")) stats = undefined;
    if (!stats && make) {
      stats = makeFolder(folder);
      made.push(folder);
    }
    if (!stats) continue;
    const name = folder === paths.root ? "the run directory" : folder.slice(paths.root.length + 1);
    if (stats.isSymbolicLink()) {
      throw new VivError(
        "RUN_INVALID",
        `${name} in ${paths.root} is a symbolic link; put a real folder there, links inside a run are not followed.`,
        { path: folder },
      );
    }
    if (!stats.isDirectory()) {
      throw new VivError(
        "RUN_INVALID",
        `${name} in ${paths.root} is a file, not a folder; move it away.`,
        { path: folder },
      );
    }
    device ??= stats.dev;
    if (stats.dev !== device) {
      throw new VivError(
        "RUN_INVALID",
        `${name} lies on another filesystem than ${paths.root}; renames between them are not atomic, so move the whole run onto one.`,
        { path: folder },
      );
    }
    // A user who can put a task there can have us run a command: its proof.
    const why = make ? whyNotOurs(folder, stats) : null;
    if (why !== null) {
      throw new VivError(
        "RUN_INVALID",
        `${folder} is not used, because it ${why}; ${remedyFor(paths.root)}.`,
        { path: folder },
      );
    }
  }
  return made;
}

function isDerivedFolder({ viv }: Paths, folder: string): boolean {
  return folder === viv || folder.startsWith(`${viv}/`);
}

function makeFolder(folder: string): Stats | undefined {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errno(error) !== "EEXIST") throw error; // another process made it a moment ago
  }
  return statIfThere(folder);
}

function runIdFromFolder(root: string): string {
  const name = basename(root);
  return isName(name) ? name : "run";
}
