import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { VivError } from "../model/errors.ts";
import type { Io } from "./io.ts";

export interface RunSettings {
  path: string;
  onDependencyFailed?: "wait" | "fail";
}

/**
 * Which run a command means: --run, then VIV_RUN, then, from here upwards, the nearest folder that
 * is a run itself, or has a `viv.toml` with `run = "…"` or a `.viv-run` file with a path in it.
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

function expandHome(path: string, io: Io): string {
  return path === "~" || path.startsWith("~/") ? join(io.env.HOME ?? "~", path.slice(2)) : path;
}

interface Near {
  path?: string;
  settings: { onDependencyFailed?: "wait" | "fail" };
}

async function nearestConfig(io: Io): Promise<Near | null> {
  for (let folder = io.cwd; ; folder = dirname(folder)) {
    if (["pending", "claimed", "done"].every((name) => isFolder(join(folder, name)))) {
      return { path: folder, settings: {} };
    }
    const toml = join(folder, "viv.toml");
    const pointer = join(folder, ".viv-run");
    const near = existsSync(toml) ? await fromToml(toml, folder, io) : { settings: {} };
    if (near.path === undefined && existsSync(pointer))
      near.path = fromPointer(pointer, folder, io);
    if (near.path !== undefined || existsSync(toml)) return near;
    if (dirname(folder) === folder) return null;
  }
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

async function fromToml(file: string, folder: string, io: Io): Promise<Near> {
  // Only here, so that commands without a viv.toml do not pay for the parser.
  const { parse, TomlError } = await import("smol-toml");
  let config: Record<string, unknown>;
  try {
    config = parse(read(file));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = `${file}:${error.line}:${error.column}: ${error.message.split("\n")[0]}`;
    throw new VivError("INVALID", message, {}, { cause: error });
  }
  const near: Near = { settings: {} };
  if (config.run !== undefined) {
    if (typeof config.run !== "string" || config.run === "") {
      throw new VivError("INVALID", `${file}: run must be the path of a directory.`);
    }
    near.path = resolve(folder, expandHome(config.run, io));
  }
  const policy = config.on_dependency_failed;
  if (policy !== undefined) {
    if (policy !== "wait" && policy !== "fail") {
      throw new VivError("INVALID", `${file}: on_dependency_failed must be "wait" or "fail".`);
    }
    near.settings.onDependencyFailed = policy;
  }
  return near;
}
