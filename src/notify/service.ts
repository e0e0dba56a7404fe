import { messageOf } from "../base/errors.ts";
import type { Intake } from "./intake.ts";
import type { News } from "./news.ts";
import type { Sender } from "./sender.ts";

export interface NotifyService {
  /** The first look is over: what happens from here on is news. */
  readonly ready: Promise<void>;
  /** There may be news, or something to send. */
  wake(): void;
  /** News of another room than the run's. */
  enter(news: News): void;
  /** Enters and sends what is there, within a grace; what is left waits for the next process. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  intake: Pick<Intake, "take" | "enter">;
  sender: Pick<Sender, "pass">;
  now(): number;
  /** Has something to say when there may be news; returns what ends that. */
  watch?: (act: () => void) => () => void;
  onError(message: string): void;
  /** What `onError` said is over. */
  onWell?: () => void;
  graceMs?: number;
}

/** When another process sends, and something waits: it may die before it is done. */
const BUSY_MS = 30_000;
/** Clocks jump, and machines sleep. */
const LONGEST_MS = 10 * 60_000;
const ERROR_MS = 60_000;
const GRACE_MS = 10_000;

/**
 * Runs beside a worker, a crew or a warden: enters news and sends what is due. It sleeps until there
 * is news or a message is due. An error is told, and costs no work.
 */
export function notifyService(options: ServiceOptions): NotifyService {
  const { intake, sender, now, onError, onWell, graceMs = GRACE_MS } = options;
  const handed: News[] = [];
  let isWanted = false;
  let isStopped = false;
  let turning: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let told = "";

  const turn = async (isLast: boolean, isOver: () => boolean): Promise<number | null> => {
    for (let news = handed[0]; news !== undefined; news = handed[0]) {
      await intake.enter(news);
      handed.shift();
    }
    const { againMs } = await intake.take(isLast);
    const { next, isBusy } = await sender.pass(isOver, isLast);
    if (told !== "") onWell?.();
    told = "";
    const times = [againMs, next === null ? null : next - now(), isBusy ? BUSY_MS : null];
    const known = times.filter((one): one is number => typeof one === "number");
    return known.length === 0 ? null : Math.max(0, Math.min(...known));
  };

  const tryTurn = async (isLast: boolean, isOver: () => boolean): Promise<number | null> => {
    try {
      return await turn(isLast, isOver);
    } catch (error) {
      tell(`a notification is late: ${messageOf(error)}`);
      return ERROR_MS;
    }
  };
  /** Once, not each minute. */
  const tell = (message: string) => {
    if (message !== told) onError(message);
    told = message;
  };

  const turns = async () => {
    while (isWanted && !isStopped) {
      isWanted = false;
      clearTimeout(timer);
      const wait = await tryTurn(false, () => isStopped);
      if (wait !== null && !isStopped) {
        timer = setTimeout(wake, Math.min(wait, LONGEST_MS));
        timer.unref();
      }
    }
  };
  const wake = () => {
    isWanted = true;
    turning ??= turns().finally(() => {
      turning = null;
      if (isWanted && !isStopped) wake();
    });
  };
  const ready = intake.take().then(
    () => wake(),
    (error: unknown) => tell(`notifications begin late: ${messageOf(error)}`),
  );
  const unwatch = options.watch?.(wake) ?? (() => {});
  return {
    ready,
    wake,
    enter: (news) => {
      handed.push(news);
      wake();
    },
    stop: async () => {
      if (isStopped) return;
      isStopped = true;
      unwatch();
      clearTimeout(timer);
      await ready;
      await turning;
      const end = now() + graceMs;
      await tryTurn(true, () => now() >= end);
    },
  };
}
