import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../model/config.ts";
import { VivError } from "../model/errors.ts";
import type { Io } from "./io.ts";

export interface RunSettings {
  path: string;
  onDependencyFailed?: "wait" | "fail";
  /** The nearest viv.toml, also where the run is said by --run or VIV_RUN. */
  config?: Config;
}

/**
 * Which run a command means: --run, then VIV_RUN, then, from here upwards, the nearest folder that
 * has a `viv.toml` with `run = "…"`, is a run itself, or has a `.viv-run` file with a path in it.
 */
export async function findRun(flag: string | undefined, io: Io): Promise<RunSettings> {
  const given = flag ?? (io.env.VIV_RUN || undefined);
  const near = await nearestConfig(io);
  if (given !== undefined) {
    if (given === "") throw new VivError("USAGE", "--run is empty; give it a directory.");
    return { ...near?.settings, path: resolve(io.cwd, expandHome(given, io)) };
  }
  if (near?.path !== undefined) return { ...near.settings, path: near.path };
  throw new VivError(
    "USAGE",
    "which run? Pass --run DIR, set VIV_RUN, or make one here with: viv init DIR",
  );
}

/** For what needs no run: the nearest viv.toml, if there is one. */
export async function findConfig(io: Io): Promise<Config | undefined> {
  return (await nearestConfig(io))?.settings.config;
}

function expandHome(path: string, io: Io): string {
  return path === "~" || path.startsWith("~/") ? join(io.env.HOME ?? "~", path.slice(2)) : path;
}

interface Near {
  path?: string;
  settings: Omit<RunSettings, "path">;
}

async function nearestConfig(io: Io): Promise<Near | null> {
  for (let folder = io.cwd; ; folder = dirname(folder)) {
    const config = await readConfig(join(folder, "viv.toml"));
    const path = runOf(folder, config, io);
    if (config !== undefined || path !== undefined) {
      return { ...(path === undefined ? {} : { path }), settings: settingsFrom(config) };
    }
    if (dirname(folder) === folder) return null;
  }
}

async function readConfig(file: string): Promise<Config | undefined> {
  if (!existsSync(file)) return undefined;
  // Only here, so that commands without a viv.toml do not pay for what reads it.
  const { parseConfig } = await import("../model/config.ts");
  return parseConfig(read(file), file);
}

function runOf(folder: string, config: Config | undefined, io: Io): string | undefined {
  if (config?.run !== undefined) return resolve(folder, expandHome(config.run, io));
  const has = (...names: string[]) => names.every((name) => isFolder(join(folder, name)));
  if (has("pending", "claimed", "done") || has("food", "claimed", "done")) return folder;
  const pointer = join(folder, ".viv-run");
  return existsSync(pointer) ? fromPointer(pointer, folder, io) : undefined;
}

function settingsFrom(config: Config | undefined): Near["settings"] {
  if (config === undefined) return {};
  const { onDependencyFailed } = config;
  return { config, ...(onDependencyFailed === undefined ? {} : { onDependencyFailed }) };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const message = `cannot read ${file}: ${(cause as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
}

function fromPointer(file: string, folder: string, io: Io): string {
  const text = read(file).trim();
  if (text === "" || text.includes("\n") || text.includes("\0")) {
    throw new VivError("INVALID", `${file} must hold one line: the path of the run.`);
  }
  return resolve(folder, expandHome(text, io));
}
