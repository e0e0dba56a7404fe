import { createHash, createHmac, randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, type Stats, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { ifThere, unlessTaken } from "../base/errno.ts";
import { VivError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { createIfAbsentUnsynced, replaceFileSynced } from "../platform/files/atomic-write.ts";
import { whyNotOwned } from "../platform/files/owned.ts";
import { explained, listed, readSmall, readSmallOrThrow } from "../platform/files/state-files.ts";
import { isSame } from "./trust.ts";

/**
 * `server/` in the user's state folder: the token, and the codes of login links. A session is signed
 * with the token and kept nowhere, so it outlives a restart of the server and ends with the token.
 */
export type Secrets = ReturnType<typeof secretsIn>;

const CODE_MS = 10 * 60_000;
const SESSION_MS = 30 * 86_400_000;
const LONGEST = 4096;

export function secretsIn(state: string) {
  const folder = join(state, "server");
  const file = join(folder, "token");
  const codes = join(folder, "codes");

  /** Made at the first use; of several processes at once, one makes it. */
  const token = (): string => {
    const known = read();
    if (known !== null) return known;
    return explained(file, () => {
      makeFolder(folder);
      createIfAbsentUnsynced(file, `${newSecret("viv_")}\n`);
      return read() ?? newSecret("gone_"); // removed just now: nothing matches
    });
  };
  const read = (): string | null => {
    const text = readSmallOrThrow(file, LONGEST, (stats) => isPrivate(file, stats))?.trim();
    if (text === undefined) return null;
    if (/^viv_[\w-]{40,}$/.test(text)) return text;
    throw new VivError("CORRUPT", `${file} is no token; make another with: viv token --renew`);
  };
  const sign = (about: string) =>
    createHmac("sha256", token()).update(`viv session ${about}`).digest("base64url");

  return {
    token,
    /** Ends all sessions, and login links that were not used. */
    renew: (): string => {
      makeFolder(folder);
      const made = newSecret("viv_");
      explained(file, () => replaceFileSynced(file, `${made}\n`));
      for (const name of listed(codes)) ifThere(() => unlinkSync(join(codes, name)));
      return made;
    },
    /** For a login link: it works once, and for a few minutes. */
    newCode: (now: number): string => {
      makeFolder(codes);
      for (const name of listed(codes)) {
        if (untilOf(join(codes, name)) < now) ifThere(() => unlinkSync(join(codes, name)));
      }
      const code = newSecret("");
      const path = join(codes, nameOf(code));
      explained(path, () =>
        createIfAbsentUnsynced(path, `${JSON.stringify({ until: now + CODE_MS })}\n`),
      );
      return code;
    },
    /** True once: of two requests with the same code, the one that removes its file. */
    redeem: (code: string, now: number): boolean => {
      if (!/^[\w-]{43}$/.test(code)) return false;
      const path = join(codes, nameOf(code));
      const until = untilOf(path);
      const isTaken = ifThere(() => {
        unlinkSync(path);
        return true;
      });
      return isTaken === true && until >= now;
    },
    isToken: (given: string): boolean => isSame(given, token()),
    newSession: (now: number): { value: string; maxAgeSeconds: number } => {
      const about = `${now + SESSION_MS}.${newSecret("")}`;
      return { value: `${about}.${sign(about)}`, maxAgeSeconds: SESSION_MS / 1000 };
    },
    isSession: (value: string, now: number): boolean => {
      const [until, nonce, signature, ...rest] = value.split(".");
      if (signature === undefined || rest.length > 0 || !/^\d{10,16}$/.test(until ?? ""))
        return false;
      return isSame(signature, sign(`${until}.${nonce}`)) && Number(until) >= now;
    },
  };
}

function newSecret(prefix: string): string {
  return prefix + randomBytes(32).toString("base64url");
}

/** The code itself is in no file. */
function nameOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}

function untilOf(path: string): number {
  const { until } = parseRecord(readSmall(path, LONGEST) ?? "") ?? {};
  return typeof until === "number" ? until : 0;
}

function isPrivate(file: string, stats: Stats): boolean {
  const why =
    whyNotOwned(file, stats) ?? ((stats.mode & 0o077) !== 0 ? "can be read by other users" : null);
  if (why === null) return true;
  const todo = `make another with: rm ${file} && viv token`;
  throw new VivError("INVALID", `${file} is not used, because it ${why}; ${todo}`);
}

/** Not mkdir's own recursion: node's never ends where a folder can be seen but not made. */
function makeFolder(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  explained(folder, () => unlessTaken(() => mkdirSync(folder, { mode: 0o700 })));
}
