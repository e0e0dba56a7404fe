import { formatDuration } from "../base/duration.ts";
import { counted } from "../base/text.ts";
import type { Command } from "../operation/command.ts";
import { type Cell, plain, prose, type Term, table } from "../operation/term.ts";
import {
  type MessageView,
  type NotifyList,
  type NotifyRetried,
  type NotifyTested,
  notifyLs,
  notifyRetry,
  notifyTest,
} from "./operations.ts";

const ls: Command = {
  op: notifyLs,
  examples: [
    ["viv notify ls", "targets, and messages that wait, failed or were sent last"],
    ["viv notify ls --json", "the same for programs"],
  ],
  human: ({ targets, messages, more }: NotifyList, term, io) => {
    const { dim } = term.color;
    if (targets.length === 0 && messages.length === 0) {
      return dim("no [[notify]] in viv.toml, and no message");
    }
    const heads = targets.map(({ name, kind, on }) => [name, kind, prose(`on ${on.join(", ")}`)]);
    const rows = messages.map((one) => rowOf(one, term, io.now()));
    const parts = [
      heads.length > 0 ? table(heads, term) : dim("no [[notify]] in viv.toml"),
      rows.length > 0 ? table(rows, term) : dim("no messages yet"),
      ...(more > 0 ? [dim(`and ${counted(more, "more sent message")}`)] : []),
      ...advice(messages, term),
    ];
    return parts.join("\n");
  },
};

function rowOf(
  { id, state, tries, due, reason, title }: MessageView,
  { color }: Term,
  now: number,
) {
  const colors = { new: color.yellow, sending: color.cyan, sent: color.green };
  const paint = colors[state as keyof typeof colors] ?? color.red;
  const left = due === null ? 0 : Date.parse(due) - now;
  const wait = left > 0 ? `${tries > 0 ? "again " : ""}in ${formatDuration(left)}` : "";
  const count = tries > 1 ? counted(tries, "try") : "";
  const row: Cell[] = [paint(state), plain(id), [count, wait].filter(Boolean).join(", ")];
  return [...row, prose(plain(reason ?? title))];
}

function advice(messages: readonly MessageView[], { color }: Term): string[] {
  const first = (wanted: MessageView["state"]) => messages.find(({ state }) => state === wanted);
  const unsure = first("unsure");
  return [
    ...(first("failed") ? [`to send failed ones again: ${color.cyan("viv notify retry")}`] : []),
    ...(unsure
      ? [`unsure: it may have arrived; if not: ${color.cyan(`viv notify retry ${unsure.id}`)}`]
      : []),
  ];
}

const test: Command = {
  op: notifyTest,
  positionals: [{ key: "name" }],
  examples: [
    ["viv notify test", "to every target, with the reason where it fails"],
    ["viv notify test phone", "to one of them"],
  ],
  human: ({ results }: NotifyTested, term) => {
    const { green, red } = term.color;
    return table(
      results.map(({ name, kind, sent, reason }) => [
        ...[name, kind, sent ? green("sent") : red("not sent")],
        prose(plain(reason ?? "")),
      ]),
      term,
    );
  },
  exit: ({ results }: NotifyTested) => (results.every(({ sent }) => sent) ? 0 : 1),
};

const retry: Command = {
  op: notifyRetry,
  names: { ids: "id" },
  positionals: [{ key: "ids", many: true }],
  examples: [
    ["viv notify retry", "all that failed, and what is due"],
    ["viv notify retry ID", "also one that may have arrived"],
  ],
  human: ({ retried, sent, waiting }: NotifyRetried, term) => {
    const rest = waiting > 0 ? `, ${counted(waiting, "message")} still waiting` : "";
    return `${counted(retried.length, "message")} again, ${term.color.green(`${sent} sent`)}${rest}`;
  },
};

export const commands = {
  "notify ls": ls,
  "notify test": test,
  "notify retry": retry,
} satisfies Record<string, Command>;
