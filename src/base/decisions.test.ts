import { describe, expect, it } from "vitest";
import { withDecisions } from "./decisions.ts";

const at = (minute: number) => `2026-03-01T10:${String(minute).padStart(2, "0")}:00.000Z`;
const attempt = (number: number, minute: number) => ({ attempt: number, at: at(minute) });
const again = (minute: number, by: string, note?: string) =>
  ({ retried: true, at: at(minute), by, note }) as const;
const texts = (rows: readonly object[]) =>
  rows.map((row) => ("text" in row ? row.text : `attempt ${(row as { attempt: number }).attempt}`));

describe("between the attempts stands what was decided", () => {
  it("a rejection, a retry and a conflict each by its name, in the history's order", () => {
    const history = [
      attempt(1, 1),
      again(2, "root", "do it better"),
      attempt(2, 4),
      again(5, "root"),
      attempt(3, 6),
      again(7, "merge", "conflict with main in prices.mjs (rework 1 of 2)"),
    ];
    const ledger = [
      { at: at(0), event: "enqueued", by: "root" },
      { at: at(1), event: "ended", outcome: "done" },
      { at: at(2), event: "rejected", by: "root", note: "do it better" },
      { at: at(5), event: "retried", by: "root" },
      { at: at(7), event: "conflict", note: "prices.mjs" },
      { at: at(7), event: "reworked", by: "merge", why: "conflict" },
    ];
    expect(texts(withDecisions(history, ledger))).toEqual([
      "attempt 1",
      "sent back by root: do it better",
      "attempt 2",
      "tried again by root",
      "attempt 3",
      "sent back by merge: conflict with main in prices.mjs (rework 1 of 2)",
    ]);
  });

  it("an approval, a stop and what is left to a person, which only the ledger has, by their time", () => {
    const history = [attempt(1, 1), attempt(2, 5)];
    const ledger = [
      { at: at(0), event: "cancelled", by: "me", note: "not now" },
      { at: at(3), event: "needs_you", note: "conflict with main in a.txt" },
      { at: at(6), event: "approved", by: "root", unproven: "no proof ran", note: "seen" },
    ];
    expect(texts(withDecisions(history, ledger))).toEqual([
      "cancelled by me: not now",
      "attempt 1",
      "left to a person: conflict with main in a.txt",
      "attempt 2",
      "approved without proof by root: no proof ran; seen",
    ]);
  });

  it("a record without its line was sent back; a line without its record is of an earlier round", () => {
    const history = [again(2, "hand", "once more")];
    const ledger = [{ at: at(0), event: "retried", by: "root" }];
    expect(texts(withDecisions(history, ledger))).toEqual(["sent back by hand: once more"]);
  });

  it("an approval that also is in the history stands once", () => {
    const ledger = [{ at: at(2), event: "approved", by: "root", note: "resolved by hand" }];
    const rows = withDecisions([attempt(1, 1), again(2, "root", "resolved by hand")], ledger);
    expect(texts(rows)).toEqual(["attempt 1", "approved by root: resolved by hand"]);
  });
});
