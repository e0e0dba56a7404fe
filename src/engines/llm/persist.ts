import type { Trouble } from "./classify.ts";
import { Ended } from "./ended.ts";

export interface Patience {
  /** The first pause; it doubles. */
  retryMs: number;
  /** A limit that ends within this is waited for. */
  waitMs: number;
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Before each further try. */
  onAgain(message: string, error: unknown): void;
  /** Makes the conversation shorter; false when it cannot. */
  shorten(): boolean;
}

const MOST_RETRIES = 3;
const MOST_WAITS = 2;
const MOST_SHORTENINGS = 3;

/** Makes one call, and again where that may help. Throws Ended when it does not. */
export async function persist<T>(
  call: () => Promise<T>,
  judge: (error: unknown) => Trouble,
  patience: Patience,
): Promise<T> {
  let retries = 0;
  let waits = 0;
  let shortenings = 0;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof Ended) throw error;
      const trouble = judge(error);
      switch (trouble.kind) {
        case "end":
          throw new Ended(trouble.outcome);
        case "limited": {
          const pause = trouble.until === null ? Infinity : trouble.until - patience.now();
          if (pause > patience.waitMs || ++waits > MOST_WAITS) throw limited(trouble);
          patience.onAgain(`${trouble.message}; waiting ${seconds(pause)}`, error);
          await patience.sleep(Math.max(0, pause));
          break;
        }
        case "again": {
          if (++retries > MOST_RETRIES) {
            const message = `${trouble.message} (tried ${retries} times)`;
            throw new Ended(
              trouble.isTheirs
                ? { kind: "unavailable", message, until: null }
                : { kind: "failed", message },
            );
          }
          const pause = patience.retryMs * 2 ** (retries - 1);
          const next = `trying again in ${seconds(pause)} (${retries} of ${MOST_RETRIES})`;
          patience.onAgain(`${trouble.message}; ${next}`, error);
          await patience.sleep(pause);
          break;
        }
        case "too_long":
          if (++shortenings > MOST_SHORTENINGS || !patience.shorten()) {
            const message = `${trouble.message}: set context_tokens to what fits into the model's window`;
            throw new Ended({ kind: "refused", message });
          }
          patience.onAgain(`${trouble.message}; shortening the conversation`, error);
      }
    }
  }
}

function limited({ message, until }: Trouble & { kind: "limited" }): Ended {
  const time = until === null ? null : new Date(until).toISOString();
  return new Ended({ kind: "rate_limited", message, until: time });
}

const seconds = (ms: number) => `${Math.max(0, Math.round(ms / 100) / 10)} s`;
