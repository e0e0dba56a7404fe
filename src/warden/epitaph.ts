import { formatTook } from "../base/duration.ts";
import { codeSpan, fenceFor } from "../base/text.ts";
import type { Attempt, ProcessEnd, Receipt, SeenProcess, Verdict } from "./dance.ts";
import { EARLIER_POOL } from "./seed-dance.ts";
import { oneLine } from "./warrant.ts";

/**
 * A receipt for people, as Markdown. Text of others (names, reasons, screens, commands) stands in code
 * spans and fences that it cannot close, so that none of it is markup.
 */
export function epitaphOf(receipt: Receipt): string {
  const { warrant, verdict, told, screen_before, screen_after } = receipt;
  const failed = told.flatMap(({ by, trouble: error }) =>
    error === null ? [] : `${by}: ${code(error)}`,
  );
  const parts = [
    `# ${TITLES[verdict]}: ${code(warrant.target)}`,
    sentence(receipt.why),
    list(facts(receipt)),
    ...attemptsPart(receipt),
    ...listPart("Evidence", receipt.evidence.map(code)),
    ...listPart("Its processes", processLines(receipt)),
    ...screenPart("Its screen before", screen_before),
    ...screenPart("Its screen after", screen_after),
    ...listPart("The requester could not be notified", failed),
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
  const { number, timeout_ms, ended, ended_at, reply, bursts } = attempt;
  const at = ended_at === null ? "" : ` at ${ended_at}`;
  const end = ended === null ? "no end" : `${ENDS[ended]}${at}`;
  return [
    `${number}. ${askedWords(attempt)}; ${formatTook(timeout_ms)} to answer; ${end}`,
    ...(reply === undefined ? [] : [`   - it said: ${code(reply)}`]),
    ...bursts.map((one) => `   - ${one.at}, ${code(one.source)}: ${code(one.what)}`),
  ].join("\n");
}

function askedWords({ asked_at, channel, arrived, submitted, unasked, queued }: Attempt): string {
  if (asked_at === null && channel === EARLIER_POOL) return `asked ${EARLIER_POOL}`;
  if (asked_at === null) return unasked ? `not asked (${code(unasked)})` : "not asked";
  const where = channel === null ? "" : ` in ${code(channel)}`;
  const seen = arrived ? (submitted ? "" : ", not seen to be submitted") : ", not seen to arrive";
  return `asked at ${asked_at}${where}${seen}${queued ? ", held back until its turn ends" : ""}`;
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

function processLines({ tree, exit, survivors }: Receipt): string[] {
  const ends = new Map(exit.map((one) => [keyOf(one), one]));
  const all = [...exit, ...tree.filter((one) => !ends.has(keyOf(one)))];
  return all.map((one) => {
    const how = endWords(ends.get(keyOf(one)), survivors.includes(one.pid));
    return `pid ${one.pid} (child of ${one.parent}): ${code(one.command)}${how}`;
  });
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

function listPart(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}`, list(lines)];
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** Our own words, with names of others in them. */
function sentence(text: string): string {
  const clean = oneLine(text)
    .replace(/</g, "&lt;")
    .replace(/([`*_[\]])/g, "\\$1");
  return clean === "" ? "No reason is known." : `${clean}${/[.!?]$/.test(clean) ? "" : "."}`;
}

function code(text: string): string {
  return codeSpan(oneLine(text) || " ");
}

function fenced(lines: readonly string[]): string {
  // Control characters of a screen could command the terminal that shows this.
  const clean = lines.map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, "")).join("\n");
  const fence = fenceFor(clean);
  return `${fence}\n${clean}\n${fence}`;
}
