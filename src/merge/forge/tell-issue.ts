import { createHash } from "node:crypto";
import type { Landing } from "../landing.ts";
import type { ForgeContext } from "./open.ts";
import { forgeAt } from "./reach.ts";
import { issueOf, readForgeRecord, writeForgeRecord } from "./record.ts";
import { redacted } from "./redact.ts";

/**
 * Tells the issue that a task was made of where the work has landed: once. The comment carries a mark;
 * after a crash, or an answer that was lost, the mark is found and nothing is written again.
 */
export async function tellIssue(
  { store, host }: ForgeContext,
  id: string,
  landing: Landing | null,
): Promise<boolean> {
  const record = readForgeRecord(store.folder, id);
  const issue = issueOf(record);
  if (record === null || issue === null || issue.told !== undefined) return false;
  if (landing?.state !== "landed") return false;
  const { forge: name, host: at, repo: path } = issue.from;
  const forge = await forgeAt(host, name, { host: at, path }, landing.repository);
  const created = (await store.show(id))?.task?.created_at ?? "";
  const mark = markOf([store.runId, id, created, issue.url]);
  const before = await forge.commentsOf(issue.number);
  const isThere = before.some((body) => body.includes(mark));
  const now = host.now();
  const { telling, ...untold } = issue;
  const note = (more: { telling?: string; told?: string }) =>
    writeForgeRecord(store.folder, { ...record, issue: { ...untold, ...more } });
  if (!isThere) {
    if (telling !== undefined && Math.abs(now - Date.parse(telling)) < ON_ITS_WAY_MS) return false;
    const body = `${redacted(sentenceFor(id, landing), host.env)}\n\n${mark}`;
    note({ telling: new Date(now).toISOString() });
    await forge.comment(issue.number, body).catch((error: unknown) => {
      note({}); // the program has ended: the next look is the truth
      throw error;
    });
  }
  note({ told: new Date(now).toISOString() });
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
