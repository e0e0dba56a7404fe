import { readlinkSync } from "node:fs";

const readlink = readlinkSync; // as it was before anybody patched it

/** The path that people know, of one that goes by the handle of its folder: see src/platform/files/beneath.ts. */
export function knownPath(path: unknown): string {
  const given = String(path);
  const [, handle, rest = ""] = /^(\/proc\/[^/]+\/fd\/\d+)(\/.*)?$/s.exec(given) ?? [];
  try {
    return handle === undefined ? given : readlink(handle) + rest;
  } catch {
    return given; // closed by now
  }
}
