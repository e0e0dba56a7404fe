import { statSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { VivError } from "../base/errors.ts";

/** How long a lock is waited for: in silence, and at all. Git holds one for milliseconds. */
export interface Patience {
  silentMs: number;
  mostMs: number;
}

export const PATIENCE: Patience = { silentMs: 1_000, mostMs: 10_000 };

/** The lock that git found in its way, from what it said. */
export function lockIn(stderr: string, cwd: string): string | null {
  const path = /'([^']*\.lock)': File exists/.exec(stderr)?.[1];
  return path === undefined ? null : resolve(cwd, path);
}

/**
 * Waits until this very lock is gone. Where many change a branch, there is nearly always a lock, but
 * another each time; only one that stays was left behind.
 */
export async function waitForLock(
  lock: string,
  tell: (sentence: string) => void,
  { silentMs, mostMs }: Patience,
): Promise<void> {
  const first = identityOf(lock);
  const begin = performance.now();
  let isTold = false;
  while (first !== null && identityOf(lock) === first) {
    const waited = performance.now() - begin;
    if (waited >= mostMs) throw stuck(lock, mostMs);
    if (!isTold && waited >= silentMs) {
      isTold = true;
      tell(`waiting for ${lock}, which some git has made`);
    }
    await wait(Math.min(20, mostMs));
  }
}

function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.ino}-${found.ctimeNs}`;
}

function stuck(lock: string, ms: number): VivError {
  const message = `${lock} has been in the way for ${ms / 1000} s; if no git is running there any more, remove that file and try again.`;
  return new VivError("LOCKED", message, { lock });
}
