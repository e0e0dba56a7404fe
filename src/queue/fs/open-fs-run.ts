import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Machine } from "../../base/clock.ts";
import { unlessTaken } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { newTaskId } from "../../base/id.ts";
import { isName } from "../../base/names.ts";
import { LedgerWriter } from "../../ledger/writer.ts";
import { guard, mkdirSync, release } from "../../platform/files/beneath.ts";
import { remedyFor, whyNotOurs } from "../../platform/files/owned.ts";
import type { Durability } from "../store.ts";
import { setAside } from "./files/aside.ts";
import { errno, statIfThere, syncFolder, translate } from "./files/atomic.ts";
import { openLines } from "./files/lines.ts";
import { NoteFiles } from "./files/note-files.ts";
import { Syncs } from "./files/syncs.ts";
import { type FsRun, newMemo, uniqueName } from "./fs-run.ts";
import { LaneWriter } from "./lanes/lanes.ts";
import {
  below,
  foldersOf,
  type LayoutOffer,
  type Paths,
  pathsOf,
  RUN_LAYOUT,
  RUN_OFFER,
} from "./layout.ts";
import { noteBoot, recoverIfLost, recoverInTurn } from "./record/recover.ts";
import { createStatus, readStatusLeniently } from "./record/status-file.ts";

export interface OpenOptions {
  /** Create the run when there is none (default false: a typo must not make a new, empty run). */
  create?: boolean;
  /** Create nothing, so that a run on a read-only disk can be read. */
  readOnly?: boolean;
  durability?: Durability;
  onDependencyFailed?: "wait" | "fail";
  /** For a new run; otherwise the folder's name. */
  runId?: string;
  /** The kind of a new run (default: run). An existing one must be of this kind. */
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
    const offers = [RUN_OFFER, ...layouts];
    const made: string[] = [];
    let layout = RUN_LAYOUT;
    let place = find(path, options, offers, made);
    while (place.offer.kind !== layout.kind) {
      layout = await place.offer.load();
      // From the last look until the folders are made, no other call may make another kind of run.
      place = find(path, options, offers, made);
    }
    const found = { paths: pathsOf(place.root, layout), isNew: place.isNew, made };
    const { durability = "safe", readOnly = false } = options;
    const links = durability === "safe" && !readOnly ? "strict" : "loose";
    guard(found.paths.root, links);
    try {
      return await openGuarded(found, machine, links, { ...options, durability, readOnly });
    } catch (error) {
      release(found.paths.root, links);
      throw error;
    }
  } catch (error) {
    if (errno(error) === "ENAMETOOLONG") {
      throw new VivError("INVALID", "the path of the run is too long.", {}, { cause: error });
    }
    throw translate(error, `opening ${path}`);
  }
}

interface Found {
  paths: Paths;
  isNew: boolean;
  /** Folders that were made. */
  made: string[];
}

function find(
  path: string,
  options: OpenOptions,
  layouts: readonly LayoutOffer[],
  made: string[],
): { root: string; offer: LayoutOffer; isNew: boolean } {
  const { layout: kind = RUN_OFFER.kind } = options;
  const wanted = layouts.find((one) => one.kind === kind);
  if (wanted === undefined)
    throw new VivError("INVALID", `unknown layout ${JSON.stringify(kind)}.`);
  const root = options.create ? makeRoot(path, wanted, made) : findRoot(path, wanted);
  const offer = layoutAt(root, layouts) ?? wanted;
  if (options.layout !== undefined && options.layout !== offer.kind) {
    const sign = `it has a ${offer.signs[0]}/ folder`;
    const is = options.create ? `is a ${offer.kind} already` : `is a ${offer.kind}, not a ${kind}`;
    throw invalid(path, `${path} ${is} (${sign}); choose another folder.`);
  }
  const isNew = statIfThere(join(root, offer.signs[0])) === undefined;
  if (isNew && !options.create) {
    const kinds = options.layout === undefined ? layouts : [wanted];
    const missing = kinds.map((one) => `not a ${one.kind} (no ${one.signs[0]}/ folder)`);
    const message = `${path} is ${missing.join(" and ")}; ${wanted.howToMake(path)}`;
    throw new VivError("RUN_NOT_FOUND", message, { path });
  }
  return { root, offer, isNew };
}

function invalid(path: string, message: string): VivError {
  return new VivError("RUN_INVALID", message, { path });
}

async function openGuarded(
  { paths, isNew, made }: Found,
  machine: Machine,
  links: FsRun["links"],
  options: OpenOptions & { durability: Durability; readOnly: boolean },
): Promise<FsRun> {
  const { durability, readOnly, onDependencyFailed = "wait" } = options;
  made.push(...prepareFolders(paths, !readOnly));
  const name = basename(paths.root);
  const ownId = options.runId ?? (isName(name) ? name : "run");
  const runId = readStatusLeniently(paths)?.run_id ?? ownId;
  const run: FsRun = {
    paths,
    runId,
    machine,
    durability,
    links,
    readOnly,
    onDependencyFailed,
    ledger: new LedgerWriter(paths.ledger, openLines),
    lanes: new LaneWriter(paths.lanes),
    notes: new NoteFiles(() => `${paths.processes}/~${uniqueName()}`),
    syncs: new Syncs(),
    random: Math.random,
    newId: () => newTaskId(machine.clock.now(), Math.random),
    memo: newMemo(),
    recoverIfLost: () => recoverIfLost(run),
    hooks: paths.layout.hooks,
  };
  try {
    if (!readOnly) run.lanes.prepare();
    if (isNew) noteBoot(run);
    else await recoverInTurn(run);
    if (isNew && !options.withoutStatus) createStatus(run, runId);
    // A power cut must not take back the name of a folder of acknowledged tasks.
    if (durability === "safe") for (const one of new Set(made.map(dirname))) syncFolder(one);
    return run;
  } catch (error) {
    run.lanes.close();
    run.ledger.close();
    throw error;
  }
}

/** The layout of a directory, or null. The first one counts if it has the folders of several. */
function layoutAt(root: string, layouts: readonly LayoutOffer[]): LayoutOffer | null {
  const has = (folder: string) => statIfThere(join(root, folder)) !== undefined;
  return layouts.find(({ signs }) => signs.every(has)) ?? null;
}

/** The one of these layouts that a directory has; null: none, or swarm-lib's. */
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
      const message = `there is no ${wanted.kind} at ${path}; ${whereElse(path) ?? wanted.howToMake(path)}`;
      throw new VivError("RUN_NOT_FOUND", message, { path });
    }
    if (errno(error) !== "ENOTDIR") throw error;
  }
  throw invalid(path, `${path} is a file, not a run directory, or lies below one.`);
}

/** A run that was archived, or whose archiving was cut short: see work/runs/. */
function whereElse(path: string): string | null {
  const at = resolve(path);
  const beside = (name: string) => statIfThere(join(dirname(at), name)) !== undefined;
  const base = basename(at);
  const isThere = beside(`${base}.tar.gz`) || beside(`.${base}.archiving`);
  return isThere ? `it is archived, bring it back with: viv archive --restore ${at}` : null;
}

function makeRoot(path: string, wanted: LayoutOffer, made: string[]): string {
  const absolute = resolve(path);
  if (statIfThere(absolute)) return findRoot(path, wanted);
  try {
    makeWithParents(absolute, made);
    return realpathSync(absolute);
  } catch (error) {
    if (errno(error) === "ENOTDIR" || errno(error) === "EEXIST") {
      throw invalid(path, `${dirname(absolute)} is not a folder.`);
    }
    throw translate(error, `creating ${path}`);
  }
}

/** Not mkdir's own recursion: node's never ends where a folder can be seen but not made. */
function makeWithParents(path: string, made: string[]): void {
  const missing: string[] = [];
  for (let folder = path; !statIfThere(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      if (makeFolder(folder)) made.push(folder);
    } catch (error) {
      if (errno(error) !== "ENOENT") throw error;
      throw invalid(folder, `no folder can be made at ${folder}; put the run elsewhere.`);
    }
  }
}

/** False when another process made it a moment ago. */
function makeFolder(folder: string): boolean {
  return unlessTaken(() => mkdirSync(folder, { mode: 0o700 }));
}

/**
 * Makes missing folders and checks the others, parents first: nothing is made below a link. A
 * rename is atomic only within one filesystem, and a link would let it leave the run.
 */
function prepareFolders(paths: Paths, make: boolean): string[] {
  const { root, viv } = paths;
  let device: number | undefined;
  const made: string[] = [];
  for (const folder of foldersOf(paths)) {
    let stats = statIfThere(folder);
    // A derived folder is rebuilt, whatever lies in its place.
    const isDerived = folder === viv || folder.startsWith(`${viv}/`);
    const isInTheWay = stats !== undefined && !stats.isDirectory() && isDerived;
    if (isInTheWay && make && setAside(folder, "not a folder")) stats = undefined;
    if (!stats && make) {
      makeFolder(folder);
      stats = statIfThere(folder);
      made.push(folder);
    }
    if (!stats) continue;
    const name = folder === root ? "the run directory" : below(paths, folder);
    if (stats.isSymbolicLink()) {
      const advice = "put a real folder there, links inside a run are not followed";
      throw invalid(folder, `${name} in ${root} is a symbolic link; ${advice}.`);
    }
    if (!stats.isDirectory()) {
      throw invalid(folder, `${name} in ${root} is a file, not a folder; move it away.`);
    }
    device ??= stats.dev;
    if (stats.dev !== device) {
      const advice = "renames between them are not atomic, so move the whole run onto one";
      throw invalid(folder, `${name} lies on another filesystem than ${root}; ${advice}.`);
    }
    // A task there can have us run a command: its proof.
    const why = make ? whyNotOurs(folder, stats) : null;
    if (why !== null) {
      throw invalid(folder, `${folder} is not used, because it ${why}; ${remedyFor(root)}.`);
    }
  }
  return made;
}
