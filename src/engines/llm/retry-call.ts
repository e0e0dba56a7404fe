import { type CallFailure, Ended } from "./call-errors.ts";

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
export async function callWithRetries<T>(
  call: () => Promise<T>,
  judge: (error: unknown) => CallFailure,
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
      const failure = judge(error);
      switch (failure.kind) {
        case "end":
          throw new Ended(failure.outcome);
        case "limited": {
          const pause = failure.until === null ? Infinity : failure.until - patience.now();
          if (pause > patience.waitMs || ++waits > MOST_WAITS) throw limited(failure);
          patience.onAgain(`${failure.message}; waiting ${seconds(pause)}`, error);
          await patience.sleep(Math.max(0, pause));
          break;
        }
        case "again": {
          if (++retries > MOST_RETRIES) {
            const message = `${failure.message} (tried ${retries} times)`;
            throw new Ended(
              failure.isTheirs
                ? { kind: "unavailable", message, until: null }
                : { kind: "failed", message },
            );
          }
          const pause = patience.retryMs * 2 ** (retries - 1);
          const next = `trying again in ${seconds(pause)} (${retries} of ${MOST_RETRIES})`;
          patience.onAgain(`${failure.message}; ${next}`, error);
          await patience.sleep(pause);
          break;
        }
        case "too_long":
          if (++shortenings > MOST_SHORTENINGS || !patience.shorten()) {
            const message = `${failure.message}: set context_tokens to what fits into the model's window`;
            throw new Ended({ kind: "refused", message });
          }
          patience.onAgain(`${failure.message}; shortening the conversation`, error);
      }
    }
  }
}

function limited({ message, until }: CallFailure & { kind: "limited" }): Ended {
  const time = until === null ? null : new Date(until).toISOString();
  return new Ended({ kind: "rate_limited", message, until: time });
}

const seconds = (ms: number) => `${Math.max(0, Math.round(ms / 100) / 10)} s`;
