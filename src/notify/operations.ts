import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import { list, text } from "../operation/fields.ts";
import { type Context, defineOperation } from "../operation/operation.ts";
import { withFileLock } from "../platform/files/file-lock.ts";
import { isNotifyName, notifySection, type Target } from "./config.ts";
import { MESSAGE_STATES, type Message, saidOf } from "./message.ts";
import { notifyPort } from "./notify-ports.ts";
import type { OutboxFiles } from "./outbox-files.ts";
import { quietUntil } from "./quiet.ts";
import { Sender } from "./sender.ts";

const targetShape = z.object({
  name: z.string(),
  kind: z.string(),
  on: z.array(z.string()),
});

const messageView = z.object({
  id: z.string(),
  state: z.enum(MESSAGE_STATES),
  /** `run`, `crew` or `warden`. */
  of: z.string(),
  target: z.string(),
  title: z.string(),
  entered: z.string(),
  tries: z.number(),
  due: z.nullable(z.string()),
  reason: z.nullable(z.string()),
});
export type MessageView = z.output<typeof messageView>;

const lsOutput = z.object({
  targets: z.array(targetShape),
  messages: z.array(messageView),
  /** Sent messages that are not listed. */
  more: z.number(),
});
export type NotifyList = z.output<typeof lsOutput>;

/** The last ones that were sent; all others are listed. */
const SENT_SHOWN = 10;

export const notifyLs = defineOperation({
  name: "notify ls",
  summary: "targets of notifications, and the messages of the outbox with state and reason",
  input: z.strictObject({}),
  changes: () => false,
  output: lsOutput,
  async run(context) {
    const targets = targetsOf(context);
    const { outboxes, moreTargets } = await context.use(notifyPort);
    const known = [...targets, ...moreTargets(context)];
    const all = (await outboxes(context)).flatMap(({ of, files }) =>
      MESSAGE_STATES.flatMap((state) =>
        files.messages(state).map((one) => viewOf(one, state, of, known, context.now())),
      ),
    );
    const sent = all.filter(({ state }) => state === "sent");
    const hidden = new Set(sent.slice(0, Math.max(0, sent.length - SENT_SHOWN)));
    const messages = all.filter((one) => !hidden.has(one));
    const views = targets.map(({ name, way, on }) => ({ name, kind: way.kind, on: [...on] }));
    return { targets: views, messages, more: hidden.size };
  },
});

function viewOf(
  message: Message,
  state: MessageView["state"],
  of: string,
  targets: readonly Target[],
  now: number,
): MessageView {
  const { id, target, entered, tries, due = null, reason = null } = message;
  const { title } = saidOf([message], undefined);
  const view = { id, state, of, target, title, entered, tries, due, reason };
  return state === "new" ? { ...view, ...waitOf(message, targets, now) } : view;
}

/** Why a message waits that nothing is wrong with. */
function waitOf({ target, entered }: Message, targets: readonly Target[], now: number) {
  const found = targets.find(({ name }) => name === target);
  if (found === undefined) {
    const then = isNotifyName(target) ? "; a day without one, and it fails" : "";
    return { reason: `viv.toml has no [[notify]] with the name ${target}${then}` };
  }
  const { quiet, digestMs } = found;
  const quietEnd = quiet && quietUntil(now, quiet);
  if (quietEnd) return { due: new Date(quietEnd).toISOString(), reason: "quiet hours" };
  const digest = digestMs === undefined ? 0 : Date.parse(entered) + digestMs;
  if (digest > now) return { due: new Date(digest).toISOString(), reason: "waits for its digest" };
  return {};
}

function targetsOf({ here }: Pick<Context, "here">): Target[] {
  return here.config?.section(notifySection) ?? [];
}

const testOutput = z.object({
  results: z.array(
    z.object({
      name: z.string(),
      kind: z.string(),
      sent: z.boolean(),
      reason: z.nullable(z.string()),
    }),
  ),
});
export type NotifyTested = z.output<typeof testOutput>;

export const notifyTest = defineOperation({
  name: "notify test",
  summary: "send a test message now, to every target or to one; the outbox is not used",
  input: z.strictObject({ name: text("name of a target") }),
  output: testOutput,
  async run(context, { name }) {
    const targets = chosen(context, name);
    const { deliver } = await context.use(notifyPort);
    const at = new Date(context.now()).toISOString();
    const id = `test-${at.replace(/[-:.]/g, "")}`;
    const results = targets.map(async (target) => {
      const item = {
        ...{ fact: id, event: "needs_you" as const, at },
        text: `this is a test of ${target.name}; it works`,
      };
      const message: Message = {
        ...{ id, target: target.name, place: "test", entered: at, tries: 0 },
        ...{ items: [item], counts: { test: 1 } },
      };
      const said = { ...saidOf([message], target.title), event: "test" };
      const { title, way } = target;
      const ended = await deliver(context, target, { ...said, title: `${title ?? "viv"}: test` });
      const reason = ended.kind === "sent" ? null : ended.reason;
      return { name: target.name, kind: way.kind, sent: ended.kind === "sent", reason };
    });
    return { results: await Promise.all(results) };
  },
});

function chosen(context: Context, name: string | undefined): Target[] {
  const targets = targetsOf(context);
  if (targets.length === 0) {
    const { config } = context.here;
    const where = config ? `${config.file} has no [[notify]]` : "there is no viv.toml here";
    throw new VivError("TARGET_NOT_FOUND", `${where}; add one with on = ["review"] and a target.`);
  }
  if (name === undefined) return targets;
  const found = targets.filter((one) => one.name === name);
  if (found.length > 0) return found;
  const names = targets.map((one) => one.name);
  const meant = suggest(name, names);
  const hint = meant ? `did you mean ${meant}?` : `there are: ${names.join(", ")}`;
  throw new VivError("TARGET_NOT_FOUND", `no [[notify]] has the name ${name}; ${hint}`);
}

const retryOutput = z.object({
  retried: z.array(z.string()),
  sent: z.number(),
  /** Messages that still wait. */
  waiting: z.number(),
  warnings: z.optional(z.array(z.string())),
});
export type NotifyRetried = z.output<typeof retryOutput>;

export const notifyRetry = defineOperation({
  name: "notify retry",
  summary: "send failed messages again, and what is due; unsure ones only by their id",
  input: z.strictObject({ ids: list("ids of messages (default: all that failed)") }),
  output: retryOutput,
  async run(context, { ids = [] }) {
    const { outboxes, deliver, moreTargets } = await context.use(notifyPort);
    const all = await outboxes(context);
    const lost = ids.filter((id) => !all.some(({ files }) => stateOf(files, id) !== null));
    if (lost.length > 0) {
      const message = `no message is called ${lost[0]}, or it is sent already; see: viv notify ls`;
      throw new VivError("TARGET_NOT_FOUND", message);
    }
    const targets = [...targetsOf(context), ...moreTargets(context)];
    const retried: string[] = [];
    const warnings = new Set<string>();
    let sent = 0;
    let waiting = 0;
    for (const { files } of all) {
      const { back, lost } = await again(files, ids, targets);
      retried.push(...back);
      for (const name of lost) {
        const words = `viv.toml has no [[notify]] with the name ${name}: its messages were left`;
        warnings.add(words);
      }
      const sender = new Sender(files, {
        ...{ targets: () => targets, now: context.now, random: Math.random },
        deliver: (target, said) => deliver(context, target, said),
      });
      sent += (await sender.pass(() => false, true)).sent;
      waiting += files.ids("new").length;
    }
    return { retried, sent, waiting, ...(warnings.size > 0 && { warnings: [...warnings] }) };
  },
});

function stateOf(files: OutboxFiles, id: string): "failed" | "unsure" | "new" | null {
  return (
    (["failed", "unsure", "new"] as const).find((state) => files.ids(state).includes(id)) ?? null
  );
}

/**
 * Under the sender's lock: no process sends them meanwhile. `lost`: the names of targets that are gone;
 * their messages stay as they are.
 */
function again(
  files: OutboxFiles,
  ids: readonly string[],
  targets: readonly Target[],
): Promise<{ back: string[]; lost: Set<string> }> {
  return withFileLock(files.locks.sender, () => {
    const wanted = ids.length > 0 ? ids : files.ids("failed");
    const lost = new Set<string>();
    const back = wanted.filter((id) => {
      const state = stateOf(files, id);
      const message = state && files.read(state, id);
      if (!message || state === null) return false;
      if (!targets.some(({ name }) => name === message.target)) {
        lost.add(message.target);
        return false;
      }
      const { end: _, due: __, ...rest } = message;
      // First the move: a message in two places is not sent.
      if (state !== "new") files.move(id, state, "new");
      files.rewrite("new", { ...rest, tries: 0 });
      files.forgetPause(message.target);
      return true;
    });
    return { back, lost };
  });
}
