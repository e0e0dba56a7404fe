import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isVivError, VivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import type { GoodConfig, Io } from "../operation/io.ts";
import { plain } from "../operation/term.ts";
import { readTrusted, remedyFor, whyNotTrusted } from "../platform/files/owned.ts";
import { foldersUp, type SearchStop } from "../platform/files/search-up.ts";
import { runLineOf, runSection } from "../queue/config-run.ts";

export interface RunSettings {
  path: string;
  /** Where that path stands: a flag, a variable, a file, or the folder itself. */
  from: string;
  onDependencyFailed?: "wait" | "fail";
  /** Where the run is said by --run or VIV_RUN: the viv.toml above it that names it, else the nearest. */
  config?: Config;
}

/**
 * Which run a command means: --run, then VIV_RUN, then, from here upwards, the nearest folder that
 * has a `viv.toml` with `run = "…"`, is a run itself, or has a `.viv-run` file with a path in it. A
 * file that another user could have put there is ignored, and named on stderr.
 */
export async function findRun(
  flag: string | undefined,
  io: Io,
  onIgnored: OnIgnored = ignore,
  onMistakes?: OnMistakes,
): Promise<RunSettings> {
  const given = flag ?? (io.env.VIV_RUN || undefined);
  const near = await nearestConfig(io, onIgnored, onMistakes);
  if (given !== undefined) {
    if (given === "") throw new VivError("USAGE", "--run is empty; give it a directory.");
    const from = flag === undefined ? "VIV_RUN" : "--run";
    const path = resolve(io.cwd, expandHome(given, io));
    const own = names(near, path) ? near : await configNaming(path, io, onIgnored, onMistakes);
    return { ...(own ?? near)?.settings, from, path };
  }
  if (near?.run !== undefined) return { ...near.settings, ...near.run };
  throw new VivError(
    "USAGE",
    `which run? Pass --run DIR, set VIV_RUN, or make one here with: viv init DIR${beyond(io)}`,
  );
}

/**
 * The viv.toml that a run belongs to: its routes say what proves a task, wherever a command about the
 * run is typed.
 */
async function configNaming(
  path: string,
  io: Io,
  onIgnored: OnIgnored,
  onMistakes?: OnMistakes,
): Promise<Near | null> {
  const above = dirname(realOf(path));
  const file = findConfigFile({ cwd: above, env: io.env });
  // A viv.toml with mistakes is no obstacle to a run that it cannot name.
  if (file === undefined || !mayNameRun(file)) return null;
  const near = await nearestConfig(io, onIgnored, onMistakes, above);
  return names(near, path) ? near : null;
}

function mayNameRun(file: string): boolean {
  try {
    return runLineOf(readFileSync(file, "utf8")) !== null;
  } catch {
    return false; // not for us to read, or gone
  }
}

function names(near: Near | null, path: string): boolean {
  if (near?.run === undefined || near.settings.config === undefined) return false;
  return realOf(near.run.path) === realOf(path);
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** A file that would be obeyed, did the search not end below it: at a repository, or the home. */
function beyond(io: Io): string {
  let end = io.cwd;
  let isOver = false; // the reason is on stderr already
  const stopped = () => {
    isOver = true;
  };
  for (const folder of foldersUp(io.cwd, io.env, stopped)) {
    if (candidatesIn(folder).length > 0) return "";
    end = folder;
  }
  for (let at = dirname(end); !isOver && at !== dirname(at); at = dirname(at)) {
    const [found] = candidatesIn(at);
    if (found !== undefined)
      return ` (${found} is ignored: it is above ${end}, where the search ends)`;
  }
  return "";
}

/** The nearest viv.toml that is obeyed, though it may have mistakes. */
export function findConfigFile(io: Pick<Io, "cwd" | "env">): string | undefined {
  for (const folder of foldersUp(io.cwd, io.env, () => {})) {
    const file = join(folder, CONFIG);
    if (existsSync(file)) return file;
    if (candidatesIn(folder).length > 0) return undefined;
  }
  return undefined;
}

/** For what needs no run: the nearest viv.toml, if there is one. */
export async function findConfig(io: Io): Promise<Config | undefined> {
  return (await nearestConfig(io))?.settings.config;
}

function expandHome(path: string, io: Io): string {
  return path === "~" || path.startsWith("~/") ? join(io.env.HOME ?? "~", path.slice(2)) : path;
}

type RunPlace = Pick<RunSettings, "path" | "from">;

interface Near {
  run?: RunPlace;
  settings: Omit<RunSettings, keyof RunPlace>;
}

async function nearestConfig(
  io: Io,
  onIgnored: OnIgnored = ignore,
  onMistakes?: OnMistakes,
  from = io.cwd,
): Promise<Near | null> {
  const stopped = ({ path, why }: SearchStop) => {
    for (const found of candidatesIn(path)) onIgnored(io, found, `is in a folder that ${why}`);
  };
  for (const folder of foldersUp(from, io.env, stopped)) {
    const file = join(folder, CONFIG);
    const good = io.goodConfig?.file === file ? io.goodConfig : undefined;
    for (const found of candidatesIn(folder)) {
      const why = whyNotTrusted(found);
      if (why === null) continue;
      onIgnored(io, found, why);
      if (good === undefined || found !== file) return null;
    }
    let config: Config | undefined;
    try {
      config = await (good === undefined ? readConfig(file) : readOr(good));
    } catch (error) {
      if (onMistakes === undefined || !isVivError(error, "INVALID")) throw error;
      onMistakes(file, error);
      return { run: runBeside(folder, readConfigFile(file), io), settings: {} };
    }
    const run = runOf(folder, config, io);
    if (config !== undefined || run !== undefined) {
      return { run, settings: settingsFrom(config) };
    }
  }
  return null;
}

const CONFIG = "viv.toml";
const POINTER = ".viv-run";

/** What in this folder would be obeyed. */
function candidatesIn(folder: string): string[] {
  const files = [CONFIG, POINTER].map((name) => join(folder, name)).filter((it) => existsSync(it));
  return isRun(folder) ? [...files, folder] : files;
}

type OnIgnored = (io: Io, path: string, why: string) => void;

/** Given by what can do without a viv.toml that has mistakes; else these are thrown. */
type OnMistakes = (file: string, mistakes: Error) => void;

/** Paths that were named already: a command that looks twice names them once. */
const named = new WeakMap<Io, Set<string>>();

function ignore(io: Io, path: string, why: string): void {
  const before = named.get(io) ?? new Set<string>();
  if (before.has(path)) return;
  named.set(io, before.add(path));
  io.stderr.write(`viv: ${plain(`${path} is ignored, because it ${why}; ${remedyFor(path)}`)}\n`);
}

async function readConfig(file: string): Promise<Config | undefined> {
  if (!existsSync(file)) return undefined;
  // Only here, so that commands without a viv.toml do not pay for what reads it.
  const { parseConfig } = await import("./config.ts");
  return parseConfig(readConfigFile(file), file);
}

/** The file as it is; while it cannot be used, as it was. */
async function readOr({ file, text }: GoodConfig): Promise<Config | undefined> {
  const { parseConfig } = await import("./config.ts");
  try {
    const now = existsSync(file) ? readConfigFile(file) : "";
    if (now.trim() !== "") return await parseConfig(now, file);
  } catch (error) {
    if (!isVivError(error)) throw error; // its mistakes are told by the supervisor
  }
  return text === "" ? undefined : parseConfig(text, file);
}

function runOf(folder: string, config: Config | undefined, io: Io): RunPlace | undefined {
  const named = config?.section(runSection).run;
  if (config !== undefined && named !== undefined) {
    return { path: resolve(folder, expandHome(named, io)), from: config.file };
  }
  if (isRun(folder)) return { path: folder, from: folder };
  const from = join(folder, POINTER);
  return existsSync(from) ? { path: fromPointer(from, folder, io), from } : undefined;
}

/** The run of a folder whose viv.toml has mistakes. One that it names, but not readably, is not guessed. */
function runBeside(folder: string, text: string, io: Io): RunPlace | undefined {
  const named = runLineOf(text);
  if (named === null) return runOf(folder, undefined, io);
  const path = named && resolve(folder, expandHome(named, io));
  return path && isRun(path) ? { path, from: join(folder, CONFIG) } : undefined;
}

function isRun(folder: string): boolean {
  const has = (...names: string[]) => names.every((name) => isFolder(join(folder, name)));
  return has("pending", "claimed", "done") || has("food", "claimed", "done");
}

function settingsFrom(config: Config | undefined): Near["settings"] {
  if (config === undefined) return {};
  return { config, onDependencyFailed: config.section(runSection).onDependencyFailed };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function readConfigFile(file: string): string {
  try {
    return readTrusted(file);
  } catch (cause) {
    if (isVivError(cause)) throw cause;
    const message = `cannot read ${file}: ${(cause as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
}

function fromPointer(file: string, folder: string, io: Io): string {
  const text = readConfigFile(file).trim();
  if (text === "" || text.includes("\n") || text.includes("\0")) {
    throw new VivError("INVALID", `${file} must hold one line: the path of the run.`);
  }
  return resolve(folder, expandHome(text, io));
}
