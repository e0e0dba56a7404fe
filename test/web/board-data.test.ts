import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Card } from "../../web/src/live/shapes.ts";
import { ColumnCards } from "../../web/src/views/board/column-cards.ts";
import { mostRows, pagesOf, rowWindow, scrollToRow } from "../../web/src/views/board/row-window.ts";
import { attemptsOf, rowsOf, sumOf } from "../../web/src/views/task/attempts-of.ts";
import { holds } from "../support/property.ts";

/** Arithmetic of the board, and what a task's record adds up to. */

describe("rows by arithmetic", () => {
  test("says what is seen, and draws three beyond", () => {
    expect(rowWindow(0, 720, 72, 61_204)).toEqual({ start: 0, end: 13, first: 1, last: 10 });
    const far = rowWindow(72 * 41_666, 720, 72, 61_204);
    expect(far).toEqual({ start: 41_663, end: 41_679, first: 41_667, last: 41_676 });
    expect(rowWindow(0, 720, 72, 0)).toEqual({ start: 0, end: 0, first: 0, last: 0 });
  });

  test("every row in sight is drawn, whatever the scroll", () => {
    const size = fc.integer({ min: 1, max: 2_000 });
    holds(
      fc.property(
        fc.integer({ min: 0, max: 200_000 }),
        size,
        fc.integer({ min: 20, max: 120 }),
        fc.nat(3_000),
        (top, viewport, height, total) => {
          const { start, end, first, last } = rowWindow(top, viewport, height, total);
          for (
            let row = Math.floor(top / height);
            row * height < top + viewport && row < total;
            row++
          ) {
            expect(row >= start && row < end).toBe(true);
          }
          // Or two rows would share an element.
          expect(end - start).toBeLessThanOrEqual(mostRows(viewport, height));
          expect(first <= last && last <= total).toBe(true);
        },
      ),
    );
  });

  test("pages cover the rows; a row is scrolled to with the least movement", () => {
    expect(pagesOf(48, 102, 50)).toEqual([0, 1, 2]);
    expect(pagesOf(5, 5, 50)).toEqual([]);
    expect(scrollToRow(0, 90, 500, 700)).toBe(0);
    expect(scrollToRow(7, 90, 500, 700)).toBe(500);
    expect(scrollToRow(20, 90, 500, 700)).toBe(1_190);
  });
});

describe("a column that keeps still", () => {
  const card = (id: string, more: Partial<Card> = {}): Card =>
    ({ id, column: "review", state: "review", fact: "", title: id, ...more }) as Card;
  const answer = (ids: readonly string[], more: Partial<Card> = {}) => [
    {
      column: "review" as const,
      offset: 0,
      total: ids.length,
      cards: ids.map((id) => card(id, more)),
    },
  ];
  const shown = (column: ColumnCards) =>
    Array.from({ length: column.total.value }, (_, at) => column.at(at)?.id);

  test("changes cards in place, counts what comes, and shows it when it may move", () => {
    const column = new ColumnCards("review");
    column.refresh(answer(["a", "b"]), true);
    column.isScrolled = true;
    column.moved({ id: "a", from: "review", to: "done", at: "2026-11-18T07:00:00Z" });
    column.moved({ id: "c", from: "claimed", to: "review", at: "2026-11-18T07:00:01Z" });
    column.refresh(answer(["b", "c"], { fact: "new" }), !column.isStill);
    expect(shown(column)).toEqual(["a", "b"]);
    expect(column.at(0)).toMatchObject({ column: "done", fact: "went to done" });
    expect(column.at(1)?.fact).toBe("new");
    expect(column.arrived.value).toBe(1);
    column.isScrolled = false;
    column.refresh(answer(["b", "c"]), !column.isStill);
    expect(shown(column)).toEqual(["b", "c"]);
    expect(column.arrived.value).toBe(0);
  });

  test("a task that comes and goes is not counted", () => {
    const column = new ColumnCards("review");
    column.moved({ id: "c", from: "claimed", to: "review", at: "" });
    column.moved({ id: "c", from: "review", to: "done", at: "" });
    expect(column.arrived.value).toBe(0);
    expect(column.placeOf(50)).toBe(50);
  });
});

describe("attempts of a task", () => {
  const usage = (attempt: number, usd: number) => ({
    ...{ event: "usage", attempt, engine: "claude", usd },
    models: [{ model: "opus", input: 10, output: 5, cache_read: 90, cache_write: 0, usd }],
  });

  test("of a usage line and the sum of the steps, the larger counts", () => {
    const step = {
      event: "step",
      attempt: 1,
      model: "opus",
      usd: 0.4,
      tokens: { input: 1, output: 1 },
    };
    const history = [
      {
        attempt: 1,
        worker: "ada",
        outcome: "unproven",
        at: "2026-11-18T07:10:00Z",
        note: "exit 1",
      },
    ];
    const ledger = [
      { event: "claimed", attempt: 1, at: "2026-11-18T07:00:00Z" },
      ...[step, step, usage(1, 0.5)],
      { event: "claimed", attempt: 2, at: "2026-11-18T07:20:00Z" },
      usage(2, 0.25),
    ];
    const held = { worker: "bob", since: "2026-11-18T07:20:00Z" };
    const attempts = attemptsOf(history, ledger, held);
    expect(attempts).toMatchObject([
      { number: 1, outcome: "unproven", began: "2026-11-18T07:00:00Z", model: "claude opus" },
      { number: 2, outcome: null, worker: "bob", spent: { usd: 0.25 } },
    ]);
    expect(sumOf(attempts).usd).toBeCloseTo(1.05);
  });

  test("a retry between attempts is none, but has its row between them", () => {
    const end = { worker: "ada", outcome: "failed", at: "2026-11-18T07:10:00Z" };
    const history = [
      { ...end, attempt: 1 },
      { retried: true as const, by: "me", at: "2026-11-18T07:20:00Z", note: "again" },
    ];
    const attempts = attemptsOf(history, [], { worker: "bob", since: "2026-11-18T07:30:00Z" });
    expect(attempts.map(({ number }) => number)).toEqual([1, 2]);
    expect(rowsOf(history, [], attempts)).toEqual([
      attempts[0],
      { at: "2026-11-18T07:20:00Z", text: "sent back by me: again" },
      attempts[1],
    ]);
  });
});
