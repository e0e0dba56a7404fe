import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { Target } from "../notify/config.ts";
import { deliver } from "../notify/deliver.ts";
import { MESSAGE_STATES, newMessage } from "../notify/message.ts";
import { messageId } from "../notify/message-id.ts";
import { outboxIn } from "../notify/outbox-files.ts";
import { Sender } from "../notify/sender.ts";
import type { HeldNotice, Receipt } from "../warden/dance.ts";
import type { SendNotice } from "../warden/notify-requester.ts";

interface Ways {
  hook?: string;
  webhook?: string;
}

/** `[warden] hook` and `webhook` as targets. No name in viv.toml has a dot. */
export function requesterTargets({ hook, webhook }: Ways): Target[] {
  const about = { on: [], isWhole: true };
  const targets: Target[] = [];
  if (hook !== undefined) {
    const argv = ["/bin/sh", "-c", hook];
    targets.push({ ...about, name: "warden.hook", way: { kind: "command", argv } });
  }
  if (webhook !== undefined) {
    const way = { kind: "webhook", url: { text: webhook } } as const;
    targets.push({ ...about, name: "warden.webhook", way });
  }
  return targets;
}

interface OutboxOptions extends Ways {
  /** The outbox of the warden. */
  folder: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  clock: Pick<Clock, "now">;
  hookMs?: number;
  webhookMs?: number;
  onError(message: string): void;
}

/** A timer cannot wait longer. */
const LONGEST_MS = 24 * 3_600_000;

/**
 * Sends the warden's notices to its hook and its webhook, through its outbox: each at most once, also
 * after a crash. The result is that of the first try; what may still arrive is tried again.
 */
export function requesterOutbox(options: OutboxOptions) {
  const { folder, cwd, env, clock, hookMs, webhookMs, onError } = options;
  const { now } = clock;
  const files = outboxIn(folder);
  const targets = requesterTargets(options);
  const sender = new Sender(files, {
    ...{ targets: () => targets, now, random: Math.random },
    deliver: (target, said) =>
      deliver(target, said, { env, folder: cwd, now, commandMs: hookMs, postMs: webhookMs }),
  });
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let passing: Promise<unknown> = Promise.resolve();
  const pass = async () => {
    const { next } = await sender.pass(() => isStopped, true);
    clearTimeout(timer);
    if (next === null || isStopped) return;
    timer = setTimeout(passLater, Math.min(Math.max(0, next - now()), LONGEST_MS));
    timer.unref();
  };
  const passLater = () => {
    passing = pass().catch((error: unknown) => onError(messageOf(error)));
  };

  const send: SendNotice = async (by, notice) => {
    const target = `warden.${by}`;
    const news = newsOf(notice, new Date(now()).toISOString());
    const id = messageId(news, target);
    const about = { id, target, place: "warden", entered: news.at };
    files.make();
    files.enter({ ...newMessage(about, [news]), whole: notice });
    passing = pass();
    await passing;
    const state = MESSAGE_STATES.find((one) => files.ids(one).includes(id)) ?? "sent";
    if (state === "sent") return null;
    const { reason = "it is being sent" } = files.read(state, id) ?? {};
    return state === "new" ? `${reason}; it is tried again` : reason;
  };

  return {
    ways: targets.map(({ name }) => name.slice("warden.".length) as "hook" | "webhook"),
    send,
    /** What an earlier warden left. */
    start: passLater,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await passing.catch(() => {}); // its caller has the error
    },
  };
}

function newsOf(notice: Receipt | HeldNotice, at: string) {
  const { dog, warrant, why } = notice;
  const event: string = "verdict" in notice ? notice.verdict : "held";
  const fact = "verdict" in notice ? `verdict ${dog}` : `held ${dog} ${notice.since}`;
  return { fact, event: event as never, at, subject: warrant.target, text: why };
}
