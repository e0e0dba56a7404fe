import { formatTook } from "../base/duration.ts";
import type { Attempt, ProcessEnd, Receipt, SeenProcess, Verdict } from "./dance.ts";
import { oneLine } from "./warrant.ts";

/**
 * A receipt for people, as Markdown. What others wrote (names, reasons, screens, commands) stands in
 * code spans and fences that it cannot close, so that it is shown and never means anything.
 */
export function epitaphOf(receipt: Receipt): string {
  const { warrant, verdict } = receipt;
  const parts = [
    `# ${TITLES[verdict]}: ${code(warrant.target)}`,
    `${sentence(receipt.why)}`,
    list(facts(receipt)),
    ...attemptsPart(receipt),
    ...(receipt.evidence.length === 0
      ? []
      : ["## Evidence", list(receipt.evidence.map((one) => code(one)))]),
    ...treePart(receipt),
    ...screenPart("Its screen before", receipt.screen_before),
    ...screenPart("Its screen after", receipt.screen_after),
    ...toldPart(receipt),
  ];
  return `${parts.join("\n\n")}\n`;
}

const TITLES: Record<Verdict, string> = {
  pardoned: "Pardoned",
  executed: "Executed",
  already_dead: "Already dead",
  failed: "Failed",
};

const KINDS = { tmux: "tmux session", pid: "process", worker: "worker", agent: "agent" };

function facts(receipt: Receipt): string[] {
  const { warrant, bound, reaped, survivors } = receipt;
  const home = warrant.home === null ? "" : ` of ${code(warrant.home)}`;
  return [
    `Verdict: **${receipt.verdict}**`,
    `Target: ${KINDS[warrant.kind]} ${code(warrant.target)}${home}${boundWords(bound)}`,
    `Reason: ${code(warrant.reason)}`,
    `Asked for by: ${code(warrant.requester)}, ${warrant.filed_at} (warrant ${code(warrant.id)})`,
    `Dog: ${code(receipt.dog)}, from ${receipt.started_at} to ${receipt.ended_at} (${formatTook(receipt.duration_ms)})`,
    ...(survivors.length === 0 ? [] : [`**Survivors:** pid ${survivors.join(", ")}`]),
    ...(reaped.length === 0 ? [] : [`Tasks given back: ${reaped.map(code).join(", ")}`]),
  ];
}

function boundWords(bound: Receipt["bound"]): string {
  if (bound === null) return "";
  if (bound.is === "process") return `, pid ${bound.pid} on ${code(bound.host)}`;
  const created = new Date(bound.created * 1000).toISOString();
  return `, ${code(bound.session)} of ${code(bound.socket)}, created ${created}`;
}

function attemptsPart({ attempts }: Receipt): string[] {
  if (attempts.length === 0) return ["It was not asked."];
  return ["## Attempts", attempts.map(attemptLines).join("\n")];
}

function attemptLines(attempt: Attempt): string {
  const { number, timeout_ms, asked_at, channel, arrived, submitted, ended, ended_at } = attempt;
  const where = channel === null ? "" : ` in ${code(channel)}`;
  const seen = arrived ? (submitted ? "" : ", not seen to be submitted") : ", not seen to arrive";
  const unasked = attempt.unasked ? ` (${code(attempt.unasked)})` : "";
  const queued = attempt.queued ? ", held back until its turn ends" : "";
  const asked =
    asked_at === null ? `not asked${unasked}` : `asked at ${asked_at}${where}${seen}${queued}`;
  const end =
    ended === null ? "no end" : `${ENDS[ended]}${ended_at === null ? "" : ` at ${ended_at}`}`;
  const reply = attempt.reply === undefined ? [] : [`   - it said: ${code(attempt.reply)}`];
  const bursts = attempt.bursts.map(
    ({ at, source, what }) => `   - ${at}, ${code(source)}: ${code(what)}`,
  );
  return [
    `${number}. ${asked}; ${formatTook(timeout_ms)} to answer; ${end}`,
    ...reply,
    ...bursts,
  ].join("\n");
}

const ENDS: Record<NonNullable<Attempt["ended"]>, string> = {
  answered: "**answered**",
  replied: "**answered** in other words",
  progress: "**progress**",
  work: "**at work**",
  waiting: "it waited for a person",
  silent: "silent",
  gone: "it was gone",
  unknown: "it could not be identified",
  withdrawn: "the warrant was withdrawn",
};

function treePart({ tree, exit, survivors }: Receipt): string[] {
  const ends = new Map(exit.map((one) => [keyOf(one), one]));
  const all = [...exit, ...tree.filter((one) => !ends.has(keyOf(one)))];
  if (all.length === 0) return [];
  const lines = all.map((one) => {
    const how = endWords(ends.get(keyOf(one)), survivors.includes(one.pid));
    return `pid ${one.pid} (child of ${one.parent}): ${code(one.command)}${how}`;
  });
  return ["## Its processes", list(lines)];
}

function endWords(end: ProcessEnd | undefined, isLeft: boolean): string {
  if (isLeft) return ", **still there**";
  if (end === undefined) return "";
  const after = end.signal === "none" ? "by itself" : `after ${end.signal}`;
  return end.gone_at === null ? `, ${end.signal} was sent` : `, gone ${after} at ${end.gone_at}`;
}

const keyOf = ({ pid, started }: SeenProcess) => `${pid} ${started}`;

function screenPart(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, fenced(lines)];
}

function toldPart({ told }: Receipt): string[] {
  const errors = told.flatMap((one) =>
    one.trouble === null ? [] : [`${one.by}: ${code(one.trouble)}`],
  );
  return errors.length === 0 ? [] : ["## The requester could not be notified", list(errors)];
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** Our own words, with what others are called in them. */
function sentence(text: string): string {
  const clean = oneLine(text)
    .replace(/</g, "&lt;")
    .replace(/([`*_[\]])/g, "\\$1");
  return clean === "" ? "No reason is known." : `${clean}${/[.!?]$/.test(clean) ? "" : "."}`;
}

/** A code span that its text cannot end. */
function code(text: string): string {
  const clean = oneLine(text) || " ";
  const fence = "`".repeat(longestRun(clean) + 1);
  const isEdgy = clean.startsWith("`") || clean.endsWith("`");
  return isEdgy ? `${fence} ${clean} ${fence}` : `${fence}${clean}${fence}`;
}

function fenced(lines: readonly string[]): string {
  // Control characters of a screen could command the terminal that shows this.
  const clean = lines.map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ""));
  const fence = "`".repeat(Math.max(3, longestRun(clean.join("\n")) + 1));
  return [fence, ...clean, fence].join("\n");
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
}
