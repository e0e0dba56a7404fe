import { lstat, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { errno } from "../base/errno.ts";

/** The built page: plain files below one folder, and nothing else of the disk. */

export interface StaticFile {
  bytes: Buffer<ArrayBuffer>;
  type: string;
  /** Its name has a hash of its content. */
  isForever: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
};

/** A part of a path that can only mean a file below the folder. */
const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Null when there is none. No link is followed, no folder listed. */
export async function staticFile(folder: string, path: string): Promise<StaticFile | null> {
  const parts = path.split("/").filter((part) => part !== "");
  const type = TYPES[extname(path)];
  if (type === undefined || parts.length > 4 || !parts.every((part) => PART.test(part)))
    return null;
  try {
    let at = folder;
    for (const part of parts) {
      at = join(at, part);
      const stats = await lstat(at);
      if (stats.isSymbolicLink()) return null;
    }
    const bytes = await readFile(at);
    return { bytes, type, isForever: parts[0] === "assets" };
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(errno(error) ?? "")) return null;
    throw error;
  }
}
