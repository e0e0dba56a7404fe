import { counted } from "../base/text.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import type { LedgerNews, LedgerPosition, Store } from "../queue/store.ts";
import { newsFromLedger } from "./from-ledger.ts";
import type { Reading, Source } from "./intake.ts";
import { type News, newsOf } from "./news.ts";

/** The end of an attempt is written before its task is moved: a look may come in between. */
const AGAIN_MS = 2_000;

/** The news of a run, from its ledger. `isDrained`: nothing is left to do, now or by waiting. */
export function runSource(
  store: Pick<Store, "followLedger" | "show" | "counts" | "runId">,
  isDrained: () => Promise<boolean>,
  now: () => number,
): Source & { onNews(act: () => void): () => void } {
  let ledger: LedgerNews | null = null;
  /** The position that was asked for when the ledger was last read to its end. */
  let asked: string | null = null;
  let hasOpenEnd = false;
  const follow = (from: LedgerPosition | "end"): LedgerNews => {
    const key = JSON.stringify(from);
    // No other process has entered anything meanwhile: this one goes on.
    if (ledger !== null && key === asked) return ledger;
    asked = key;
    ledger = store.followLedger({ from });
    return ledger;
  };
  return {
    onNews: (act) => store.followLedger({ from: "end" }).onNews(act),
    read: async (from, isIdle, isLast): Promise<Reading> => {
      const followed = follow(from);
      const lines: LedgerLine[] = [];
      for await (const { line } of followed.news()) lines.push(line);
      const news = await stillTrue(store, newsFromLedger(lines));
      const hasBegun = lines.some(({ event }) => event === "claimed");
      const hasEnded = lines.some(({ event }) => ENDS.has(event));
      const wasIdle = isIdle && !hasBegun;
      const isAsked = !wasIdle && (hasEnded || hasOpenEnd || isLast);
      const isOver = isAsked && (await isDrained());
      const againMs = isAsked && !isOver && !hasOpenEnd ? AGAIN_MS : undefined;
      hasOpenEnd = againMs !== undefined;
      if (isOver) news.push(await idleNews(store, lines.at(-1)?.at, now()));
      return { news, position: followed.position(), isIdle: wasIdle || isOver, againMs };
    },
  };
}

const ENDS: ReadonlySet<string> = new Set(["ended", "approved", "rejected", "cancelled"]);

/** With the types of their tasks; without those that a person has dealt with meanwhile. */
async function stillTrue(store: Pick<Store, "show">, news: readonly News[]): Promise<News[]> {
  const kept: News[] = [];
  for (const one of news) {
    const isOfTask = one.subject !== undefined && !/^(budget|schedule)_/.test(one.event);
    const view = isOfTask ? await store.show(one.subject as string).catch(() => null) : null;
    const isState = one.event === "review" || one.event === "failed";
    // Claimed: its end is recorded, and it is moved in a moment.
    const isOver = isState && view !== null && ![one.event, "claimed"].includes(view.state);
    if (!isOver) kept.push({ ...one, type: one.type ?? view?.type ?? undefined });
  }
  return kept;
}

async function idleNews(
  store: Pick<Store, "counts" | "runId">,
  last: string | undefined,
  now: number,
): Promise<News> {
  const { done, failed, review } = await store.counts();
  // After the end that made it so, whatever the clocks say.
  const at = new Date(Math.max(now, last === undefined ? 0 : Date.parse(last) + 1)).toISOString();
  const sums = [
    `${done} done`,
    failed > 0 && `${failed} failed`,
    review > 0 && `${review} in review`,
  ];
  const text = `nothing is left to do: ${sums.filter(Boolean).join(", ")} of ${counted(done + failed + review, "task")}`;
  return newsOf({ fact: `idle ${at}`, event: "idle", at, text, todo: "viv ls" });
}
