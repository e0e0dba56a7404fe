import { createHash } from "node:crypto";
import { isVivError } from "../../base/errors.ts";
import type { Landing } from "../landing.ts";
import type { ForgeContext } from "./open.ts";
import { forgeAt } from "./reach.ts";
import { type ForgeRecord, issueOf, readForgeRecord, writeForgeRecord } from "./record.ts";
import { redacted } from "./redact.ts";

/** An issue that refused the comment (gone, locked) is not asked again, unless its task is named. */
export function mustTell({ issue }: ForgeRecord, isNamed: boolean): boolean {
  if (issue === undefined || issue.told !== undefined) return false;
  return isNamed || issue.refused === undefined;
}

/**
 * Tells the issue that a task was made of where the work has landed: once. The comment carries a mark;
 * after a crash, or an answer that was lost, the mark is found and nothing is written again.
 */
export async function tellIssue(
  { store, host }: ForgeContext,
  id: string,
  landing: Landing | null,
  isNamed: boolean,
): Promise<boolean> {
  const record = readForgeRecord(store.folder, id);
  const issue = issueOf(record);
  if (record === null || issue === null || !mustTell(record, isNamed)) return false;
  if (landing?.state !== "landed") return false;
  const { forge: name, host: server, repo: path } = issue.from;
  const forge = await forgeAt(host, name, { host: server, path }, landing.repository);
  const created = (await store.show(id))?.task?.created_at ?? "";
  const mark = markOf([store.runId, id, created, issue.url]);
  const now = host.now();
  const at = new Date(now).toISOString();
  const { telling, refused: _, ...untold } = issue;
  const note = (more: { telling?: string; told?: string; refused?: string }) =>
    writeForgeRecord(store.folder, { ...record, issue: { ...untold, ...more } });
  const noteRefusal = (error: unknown) => {
    // Only the forge's own word counts: it would be the same the next time.
    const isRefusal = isVivError(error, "INVALID") && error.details.status !== undefined;
    if (isRefusal) note({ refused: at });
    return isRefusal;
  };
  const before = await forge.commentsOf(issue.number).catch((error: unknown) => {
    noteRefusal(error);
    throw error;
  });
  const isThere = before.some((body) => body.includes(mark));
  if (!isThere) {
    if (telling !== undefined && Math.abs(now - Date.parse(telling)) < ON_ITS_WAY_MS) return false;
    const body = `${redacted(sentenceFor(id, landing), host.env)}\n\n${mark}`;
    note({ telling: at });
    await forge.comment(issue.number, body).catch((error: unknown) => {
      if (!noteRefusal(error)) note({}); // the program has ended: the next look is the truth
      throw error;
    });
  }
  note({ told: at });
  return !isThere;
}

/** A process that was killed leaves its gh at work: what it sends may come after the next one has looked. */
const ON_ITS_WAY_MS = 60_000;

/** It cannot be known beforehand, and no reader of the page sees it. */
function markOf(parts: readonly string[]): string {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24);
  return `<!-- viv ${digest} -->`;
}

function sentenceFor(id: string, { to, target, pull_request, proof }: Landing): string {
  const commit = to === undefined ? "" : ` as ${to.slice(0, 12)}`;
  const through = pull_request === undefined ? "" : ` through ${pull_request.url}`;
  const proven = proof === undefined ? "" : ` The merge was proven.`;
  return `The work on this issue has landed in \`${target}\`${commit}${through} (task \`${id}\`).${proven}`;
}
