import { machineErrorOf } from "../base/errno.ts";
import { isVivError, messageOf } from "../base/errors.ts";
import { sealDays } from "./seal.ts";

const LOOK_EVERY_MS = 10 * 60_000;

export interface KeepSealedOptions {
  now: () => number;
  /** A sentence for people, and its code; each one once. */
  warn: (message: string, code: string) => void;
}

/**
 * For long-lived processes: seals the days of a ledger that are over, now and every ten minutes. Any
 * number of processes may do it. The end waits for a seal that is being made.
 */
export function keepSealed(
  folder: string,
  { now, warn }: KeepSealedOptions,
): { stop(): Promise<void> } {
  let lastWarning = "";
  const look = async () => {
    try {
      await sealDays(folder, { now, sleep });
    } catch (error) {
      // A disk without room, or for reading only: the next look, or the next process, does it.
      const message = `the ledger in ${folder} could not be sealed: ${messageOf(error)}`;
      const code = isVivError(error) ? error.code : (machineErrorOf(error) ?? "CORRUPT");
      if (message !== lastWarning && code !== "READ_ONLY") warn(message, code);
      lastWarning = message;
    }
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}

async function sleep(ms: number): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return true;
}
