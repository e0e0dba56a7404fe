import type { LedgerLine } from "../queue/ledger.ts";
import type { LedgerPosition, Store } from "../queue/store.ts";
import type { LedgersNews } from "./event-hub.ts";

/** The ledger of a run, with positions as text: `run/2026-01-31.jsonl=120,…`. */
export function followRunLedger(
  store: Pick<Store, "followLedger">,
  { from = "end", to }: { from?: string; to?: string },
): LedgersNews {
  const begin = from === "end" ? "end" : from === "start" ? {} : parse(from);
  const end = to === undefined ? null : parse(to);
  const follower = store.followLedger({ from: begin });
  const read = new Map(Object.entries(begin === "end" ? follower.position() : begin));
  const now = store.followLedger({ from: "end" }).position();
  const isLost = begin !== "end" && [...read].some(([file, at]) => at > (now[file] ?? 0));
  return {
    isLost,
    position: () => print(read),
    onNews: (act) => follower.onNews(act),
    async *news() {
      for await (const { line, file, offset } of follower.news()) {
        if (end !== null && offset > (end[file] ?? 0)) continue;
        read.set(file, offset);
        yield { line: line as LedgerLine, position: print(read) };
      }
    },
  };
}

function print(read: ReadonlyMap<string, number>): string {
  return `run/${[...read].map(([file, at]) => `${file.replace(/\.jsonl$/, "")}=${at}`).join(",")}`;
}

/** Throws for a text that is no position. */
function parse(text: string): LedgerPosition {
  const [, all = ""] = /^run\/((?:\d{4}-\d\d-\d\d=\d{1,15}(?:,|$))*)$/.exec(text) ?? [];
  if (text !== "run/" && all === "") throw new Error("no position");
  const pairs = all.split(",").filter(Boolean);
  return Object.fromEntries(
    pairs.map((pair) => {
      const [day, at] = pair.split("=");
      return [`${day}.jsonl`, Number(at)];
    }),
  );
}
