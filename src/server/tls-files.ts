import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { createSecureContext } from "node:tls";
import { messageOf, VivError } from "../base/errors.ts";
import { stampOf, watchPaths } from "../platform/files/watch.ts";
import type { ServerSettings } from "./config.ts";

export interface TlsPair {
  cert: Buffer;
  key: Buffer;
}

type Names = NonNullable<ServerSettings["tls"]>;

/** Between the two files of a renewal, and while one is written. */
const SETTLE_MS = 100;
/** A pair that has been wrong for so long is no half of a renewal. */
const PATIENCE_MS = 2_000;
/** For changes without a notification: a link into another folder. */
const RESCAN_MS = 60_000;

/** The certificate and its key, now and after each change of the files. Throws INVALID at first. */
export function tlsFiles(names: Names, folder: string) {
  const paths = [names.cert, names.key].map((path) => resolve(folder, path));
  const stamp = () => paths.map(stampOf).join();
  let seen = stamp();
  return {
    first: readPair(names, folder),
    /** A pair that cannot be used is warned of, and changes nothing. Returns what ends it. */
    follow: (take: (pair: TlsPair) => void, warn: (sentence: string) => void): (() => void) => {
      let patience: NodeJS.Timeout | undefined;
      const lookLater = () => {
        patience = undefined;
        look(false);
      };
      const look = (isPatient: boolean) => {
        const now = stamp();
        if (now === seen) return;
        let pair: TlsPair;
        try {
          pair = readPair(names, folder);
        } catch (error) {
          if (isPatient) {
            // Not anew with each change: a folder that is never at rest would keep it from being said.
            patience ??= setTimeout(lookLater, PATIENCE_MS).unref();
            return;
          }
          seen = now;
          return warn(`${messageOf(error)}; the last good pair is still used.`);
        }
        seen = now;
        clearTimeout(patience);
        patience = undefined;
        take(pair);
      };
      const unwatch = watchPaths(
        [...new Set(paths.map((path) => dirname(path)))],
        () => look(true),
        { rescanMs: RESCAN_MS, settleMs: SETTLE_MS, isBackground: true },
      );
      return () => {
        clearTimeout(patience);
        unwatch();
      };
    },
  };
}

function readPair({ cert, key }: Names, folder: string): TlsPair {
  const read = (path: string) => {
    try {
      return readFileSync(resolve(folder, path));
    } catch (cause) {
      const message = `${path} of [server] cannot be read: ${messageOf(cause)}`;
      throw new VivError("INVALID", message, {}, { cause });
    }
  };
  const pair = { cert: read(cert), key: read(key) };
  try {
    createSecureContext(pair);
  } catch (cause) {
    const message = `${cert} and ${key} of [server] are no certificate and its key in PEM: ${messageOf(cause)}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
  return pair;
}
