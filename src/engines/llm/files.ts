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
import { capped } from "./capped-text.ts";

const LARGEST_FILE = 16 * 1024 * 1024;
const MOST_ENTRIES = 1_000;
/** Nobody wants them listed, and they are most of what there is. */
const UNLISTED = new Set([".git", "node_modules"]);

export interface ReadInput {
  path: string;
  /** The first line, from 1 on. */
  from?: number;
  lines?: number;
}

export function readFile(place: Workspace, input: ReadInput, limitChars: number): string {
  const text = readText(place, input.path).toString("utf8");
  if (input.from === undefined && input.lines === undefined) return capped(text, limitChars);
  const lines = text.split("\n");
  const first = Math.max(1, input.from ?? 1);
  const chosen = lines.slice(first - 1, first - 1 + (input.lines ?? lines.length));
  if (chosen.length === 0) throw new ToolError(`${input.path} has only ${lines.length} lines.`);
  return capped(chosen.join("\n"), limitChars);
}

export function writeFile(place: Workspace, input: { path: string; content: string }): string {
  const path = inside(place, input.path);
  mkdirSync(dirname(path), { recursive: true });
  put(path, input.path, input.content);
  return `${input.path} written, ${Buffer.byteLength(input.content)} bytes.`;
}

export interface EditInput {
  path: string;
  old: string;
  new: string;
  all?: boolean;
}

/** Exactly what is there is replaced by exactly what is given: no patterns on either side. */
export function editFile(place: Workspace, input: EditInput): string {
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
      `\`old\` occurs ${found} times in ${input.path}. Give more of its surroundings, or all: true.`,
    );
  }
  put(inside(place, input.path), input.path, parts.join(input.new));
  return `${input.path}: ${found === 1 ? "1 place" : `${found} places`} changed.`;
}

export interface ListInput {
  path?: string;
  recursive?: boolean;
}

/** Folders end with a slash. Links are shown, not followed. */
export function listFiles(place: Workspace, input: ListInput): string {
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
    throw new ToolError(`${name} has ${size} bytes: too large to be read as a whole.`);
  }
  const bytes = readFileSync(path);
  if (bytes.includes(0)) throw new ToolError(`${name} is not a text, but ${size} bytes of data.`);
  return bytes;
}

/** A pipe in its place would make us wait for ever. */
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

/** Told to the model as the result of its call, so that it can do better. */
export class ToolError extends Error {}

/** Where the tools work. */
export interface Workspace {
  /** As it was given to us, and so as the model may write it. */
  cwd: string;
  /** Without links. */
  root: string;
}

export function openWorkspace(cwd: string): Workspace {
  return { cwd, root: realpathSync(cwd) };
}

/**
 * The real path of something in the workspace, which need not be there yet. Links are followed as
 * long as they stay inside; what counts is where a path leads, not how it is written.
 */
export function inside({ cwd, root }: Workspace, path: string): string {
  if (path.includes("\0")) throw new ToolError("A path has no zero bytes.");
  const isOurs = isAbsolute(path) && isWithin(cwd, resolve(path));
  const wanted = isOurs ? join(root, relative(cwd, path)) : resolve(root, path);
  let there = wanted;
  while (lstatSync(there, { throwIfNoEntry: false }) === undefined) there = dirname(there);
  const real = realOf(there, path);
  if (!isWithin(root, real)) throw outside(path);
  return join(real, relative(there, wanted));
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function realOf(there: string, path: string): string {
  try {
    return realpathSync(there);
  } catch {
    // Writing to a link that leads nowhere would make a file wherever it leads.
    throw new ToolError(`${path} is a link that leads nowhere.`);
  }
}

function outside(path: string): ToolError {
  return new ToolError(`${path} is outside of the workspace. Use paths relative to it.`);
}
