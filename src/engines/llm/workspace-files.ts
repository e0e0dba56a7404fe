import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { counted } from "../../base/text.ts";
import { capped } from "./capped-text.ts";

const LARGEST_FILE = 16 * 1024 * 1024;
const MOST_ENTRIES = 1_000;
/** Listed by name only: most files of a workspace are in these. */
const UNLISTED = new Set([".git", "node_modules"]);

/** `from`: the first line, counted from 1. */
export function readFile(
  place: Workspace,
  input: { path: string; from?: number; lines?: number },
  limitChars: number,
): string {
  const text = readText(place, input.path).toString("utf8");
  if (input.from === undefined && input.lines === undefined) return capped(text, limitChars);
  const lines = text.split("\n");
  const first = Math.max(1, input.from ?? 1);
  const chosen = lines.slice(first - 1, first - 1 + (input.lines ?? lines.length));
  if (chosen.length === 0)
    throw new ToolError(`${input.path} has only ${counted(lines.length, "line")}.`);
  return capped(chosen.join("\n"), limitChars);
}

export function writeFile(place: Workspace, input: { path: string; content: string }): string {
  const path = inside(place, input.path);
  mkdirSync(dirname(path), { recursive: true });
  put(path, input.path, input.content);
  return `${input.path} written, ${counted(Buffer.byteLength(input.content), "byte")}.`;
}

/** Replaces exact text by exact text: no patterns on either side. */
export function editFile(
  place: Workspace,
  input: { path: string; old: string; new: string; all?: boolean },
): string {
  if (input.old === "") throw new ToolError("`old` is empty. To make a file use write_file.");
  if (input.old === input.new) throw new ToolError("`old` and `new` are the same.");
  const bytes = readText(place, input.path);
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes)) {
    throw new ToolError(`${input.path} is not UTF-8 text: editing it would damage it.`);
  }
  const parts = text.split(input.old);
  const found = parts.length - 1;
  if (found === 0) {
    throw new ToolError(`\`old\` does not occur in ${input.path}. Read it, and copy exactly.`);
  }
  if (found > 1 && !input.all) {
    throw new ToolError(
      `\`old\` occurs ${counted(found, "time")} in ${input.path}. Give more of its surroundings, or all: true.`,
    );
  }
  put(inside(place, input.path), input.path, parts.join(input.new));
  return `${input.path}: ${counted(found, "place")} changed.`;
}

/** Folders end with a slash. Links are shown, not followed. */
export function listFiles(place: Workspace, input: { path?: string; recursive?: boolean }): string {
  const top = inside(place, input.path ?? ".");
  const found: string[] = [];
  const folders = [top];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = readdirSync(folder, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (found.length === MOST_ENTRIES) return `${found.join("\n")}\n[... and more ...]`;
      const path = join(folder, entry.name);
      found.push(relative(top, path) + (entry.isDirectory() ? "/" : ""));
      if (input.recursive && entry.isDirectory() && !UNLISTED.has(entry.name)) folders.push(path);
    }
  }
  return found.length === 0 ? "[empty]" : found.join("\n");
}

function readText(place: Workspace, name: string): Buffer {
  const path = inside(place, name);
  const { size } = mustBeFile(path, name);
  if (size > LARGEST_FILE) {
    throw new ToolError(`${name} has ${counted(size, "byte")}: too large to be read as a whole.`);
  }
  const bytes = readFileSync(path);
  if (bytes.includes(0))
    throw new ToolError(`${name} is not a text, but ${counted(size, "byte")} of data.`);
  return bytes;
}

/** A pipe would block forever. */
function mustBeFile(path: string, name: string): { size: number } {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new ToolError(`There is no ${name}.`);
  if (stat.isDirectory()) throw new ToolError(`${name} is a folder.`);
  if (!stat.isFile()) throw new ToolError(`${name} is not a file.`);
  return stat;
}

/** In place, so that the mode of the file stays. */
function put(path: string, name: string, content: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) mustBeFile(path, name);
  const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o666);
  try {
    if (!fstatSync(fd).isFile()) throw new ToolError(`${name} is not a file.`);
    ftruncateSync(fd);
    writeFileSync(fd, content);
  } finally {
    closeSync(fd);
  }
}

/** The result of a call for the model, which can then correct it. */
export class ToolError extends Error {}

/** The folder of the tools: `cwd` as the model may write it, `root` without links. */
export interface Workspace {
  cwd: string;
  root: string;
}

export function openWorkspace(cwd: string): Workspace {
  return { cwd, root: realpathSync(cwd) };
}

/**
 * The real path of a file or folder in the workspace, which need not exist yet. Links are followed as long
 * as they stay inside.
 */
export function inside({ cwd, root }: Workspace, path: string): string {
  if (path.includes("\0")) throw new ToolError("A path has no zero bytes.");
  const isOurs = isAbsolute(path) && isWithin(cwd, resolve(path));
  const wanted = isOurs ? join(root, relative(cwd, path)) : resolve(root, path);
  let there = wanted;
  while (lstatSync(there, { throwIfNoEntry: false }) === undefined) there = dirname(there);
  const real = realOf(there, path);
  if (isWithin(root, real)) return join(real, relative(there, wanted));
  throw new ToolError(`${path} is outside of the workspace. Use paths relative to it.`);
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function realOf(there: string, path: string): string {
  try {
    return realpathSync(there);
  } catch {
    // A write through a dangling link would create its target.
    throw new ToolError(`${path} is a link that leads nowhere.`);
  }
}
