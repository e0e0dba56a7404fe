import { createHash } from "node:crypto";
import { lstat, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { errno } from "../base/errno.ts";

/** The built page: plain files below one folder, and nothing else of the disk. */

export interface StaticFile {
  bytes: Buffer<ArrayBuffer>;
  /** Null where that is no gain. */
  gzipped: Buffer<ArrayBuffer> | null;
  /** In quotes, by its content. */
  etag: string;
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
    const file = await contentOf(at);
    return { ...file, type, isForever: parts[0] === "assets" };
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(errno(error) ?? "")) return null;
    throw error;
  }
}

type Content = Pick<StaticFile, "bytes" | "gzipped" | "etag">;

/** The page is a few dozen small files: each is compressed once, until it is another one. */
const contents = new Map<string, { stamp: string; content: Promise<Content> }>();

async function contentOf(path: string): Promise<Content> {
  const { mtimeMs, ino, size } = await lstat(path);
  const stamp = `${ino} ${size} ${mtimeMs}`;
  const known = contents.get(path);
  if (known?.stamp === stamp) return known.content;
  const content = readContent(path);
  contents.set(path, { stamp, content });
  content.catch(() => contents.delete(path)); // the request has the error
  return content;
}

async function readContent(path: string): Promise<Content> {
  const bytes = await readFile(path);
  const zipped = (await promisify(gzip)(bytes, { level: 9 })) as Buffer<ArrayBuffer>;
  const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  return { bytes, gzipped: zipped.length < bytes.length ? zipped : null, etag: `"${hash}"` };
}
