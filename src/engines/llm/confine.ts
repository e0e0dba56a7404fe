import { lstatSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

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
