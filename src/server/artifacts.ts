import { closeSync, createReadStream, fstatSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { openToRead } from "../platform/files/open-to-read.ts";
import type { Artifacts } from "../queue/store.ts";
import { HttpError } from "./http-errors.ts";

/** Shown as text: what a browser would run or render is not among them. */
const AS_TEXT = /\.(md|txt|log|json|jsonl|csv|patch|diff|toml|ya?ml|org)$/;

/**
 * The bytes of an artifact: as text where the name says so, else as a download. Never as a page: what an
 * agent wrote must not run with the rights of ours. A link in its place is not followed.
 */
export async function sendArtifact(
  artifacts: Pick<Artifacts, "pathOnThisHost">,
  name: string,
  response: ServerResponse,
  headers: Record<string, string>,
  isHead: boolean,
): Promise<void> {
  const path = artifacts.pathOnThisHost(name); // INVALID for anything but a name
  const missing = () => new HttpError(404, `there is no artifact ${JSON.stringify(name)}.`);
  const fd = path === null ? null : openToRead(path);
  if (fd === null) throw missing();
  const stats = fstatSync(fd);
  const isText = AS_TEXT.test(name) || !name.includes(".");
  const end = stats.size - 1;
  response.writeHead(200, {
    ...headers,
    "content-type": isText ? "text/plain; charset=utf-8" : "application/octet-stream",
    // The name has only letters, digits and . _ -
    "content-disposition": `${isText ? "inline" : "attachment"}; filename="${name}"`,
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "content-length": String(stats.size),
    "last-modified": stats.mtime.toUTCString(),
  });
  if (isHead || stats.size === 0) {
    closeSync(fd);
    response.end();
    return;
  }
  // It may grow meanwhile: only what was promised is sent. A file that became shorter cuts it off.
  await pipeline(createReadStream("", { fd, end }), response).catch(() => response.destroy());
}
