import { unlessCorrupt } from "../base/errors.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import type { Store } from "../queue/store.ts";
import { readRecord, type WorktreeRecord } from "../work/workspaces/record.ts";
import { commitOf, findRepository, type Repository } from "../work/workspaces/worktree.ts";
import { STRATEGIES } from "./config.ts";
import { readForgeRecord } from "./forge/record.ts";
import { type Landing, proofOfMerge } from "./landing.ts";
import { timesSentBack } from "./send-back.ts";

/**
 * The landing of a task whose file is lost: that of the ledger's last `landed` line, or of its pull
 * request. Null for any other: the queue begins it anew, and finds by git what was merged.
 */
export async function rebuiltLanding(store: Store, id: string): Promise<Landing | null> {
  const view = await store.show(id);
  const record = unlessCorrupt(() => readRecord(store.workspaces, id));
  const known = record?.kind === "worktree" ? record : null;
  const line = await lastLanded(store, id);
  const where = known?.repository ?? text(line?.repository);
  if (view === null || where === undefined) return null;
  const commitAt = commitsOf(await findRepository(where).catch(() => null));
  const reworks = timesSentBack(view);
  const same = { task: id, repository: where, strategy: "merge" as const, reworks };
  return line === null
    ? requested(store, commitAt, known, same)
    : landed(commitAt, line, known, same);
}

type CommitAt = (name: string) => Promise<string | null>;

/** None of a repository that is gone: then the ledger's words must do. */
function commitsOf(repository: Repository | null): CommitAt {
  return async (name) => (repository === null ? null : commitOf(repository, name));
}

type Same = Pick<Landing, "task" | "repository" | "strategy" | "reworks">;

async function landed(
  commitAt: CommitAt,
  line: LedgerLine,
  known: WorktreeRecord | null,
  same: Same,
): Promise<Landing | null> {
  const [to, target] = [text(line.commit), text(line.target)];
  const branch = text(line.branch) ?? known?.branch;
  if (to === undefined || target === undefined || branch === undefined) return null;
  const strategy = STRATEGIES.find((one) => one === line.strategy) ?? same.strategy;
  const tip = await commitAt(`refs/heads/${branch}`);
  // Older lines do not tell the branch's commit.
  const second = strategy === "merge" ? await commitAt(`${to}^2`) : null;
  const head = text(line.head) ?? second ?? tip ?? to;
  const base = known?.base ?? (await commitAt(`${to}^1`)) ?? to;
  const proof = proofOfMerge.safeParse(line.proof).data;
  const fact = { branch, base, head, target, to, ...(proof && { proof }) };
  return { ...same, strategy, state: "landed", at: line.at, ...fact };
}

async function requested(
  store: Store,
  commitAt: CommitAt,
  known: WorktreeRecord | null,
  same: Same,
): Promise<Landing | null> {
  const { forge, pull_request: request } =
    unlessCorrupt(() => readForgeRecord(store.folder, same.task)) ?? {};
  if (known === null || forge === undefined || request?.number === undefined) return null;
  const { branch, base } = known;
  const head = (await commitAt(`refs/heads/${branch}`)) ?? base;
  const pull_request = { number: request.number, url: request.url ?? "", forge };
  const fact = { branch, base, head, target: request.base, pull_request };
  return { ...same, state: "pull_request", at: new Date().toISOString(), ...fact };
}

async function lastLanded(store: Store, task: string): Promise<LedgerLine | null> {
  let last: LedgerLine | null = null;
  for await (const line of store.ledger({ task })) if (line.event === "landed") last = line;
  return last;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
