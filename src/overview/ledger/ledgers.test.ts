import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { followLedgers, type LedgerSource } from "../../ledger/follow.ts";
import type { Entry } from "../../ledger/line.ts";
import { type LineFilter, lastLines, linesNow, MOST_COUNTED } from "./ledgers.ts";

const DAYS = ["2026-11-15", "2026-11-16", "2026-11-17"] as const;

const aTime = fc
  .tuple(fc.constantFrom(...DAYS), fc.integer({ min: 10, max: 23 }))
  .map(([day, hour]) => `${day}T${hour}`);
const ours = fc.record({
  at: aTime,
  event: fc.constantFrom("claimed", "ended", "landed"),
  task: fc.constantFrom("t.1", "t.10", "é", undefined),
  worker: fc.constantFrom("ada", "bo", undefined),
  type: fc.constantFrom<unknown>("fix", 5, undefined),
  room: fc.constantFrom("crew", undefined, undefined),
});
const text = ours.map((line) => JSON.stringify(line));
/** Some are torn, empty, by another writer, or longer than what is read at a time. */
const anyText = fc.oneof(
  { weight: 12, arbitrary: text },
  { weight: 2, arbitrary: fc.constantFrom("", "{}", '{"at":"2026-11-16T', "not json", "[1]") },
  { weight: 1, arbitrary: text.map((one) => one.replace(/":/g, '" : ')) },
  { weight: 1, arbitrary: text.map((one) => `${one.slice(0, -1)},"at":"2026-11-15T10"}`) },
  { weight: 1, arbitrary: text.map((one) => one.replace("}", `,"note":"é${LONG}"}`)) },
);
const LONG = "ab".repeat(140_000);

interface Day {
  lines: string[];
  /** Behind the last newline. */
  tail: string;
  /** How much of it counts, in percent, of a closed day. */
  closed: number | null;
}
const dayOf = (line: fc.Arbitrary<string>): fc.Arbitrary<Day> =>
  fc.record({
    lines: fc.array(line, { maxLength: 8 }),
    tail: fc.constantFrom("", '{"at":"2026-11-17T20","event":"ended"}'),
    closed: fc.option(fc.nat(100)),
  });

const some = (...values: string[]) => fc.subarray(values, { minLength: 1 });
const kinds = {
  rooms: some("crew", "queue"),
  events: some("claimed", "ended"),
  tasks: some("t.1", "t.10", "é", ""),
  agents: some("ada", "viv"),
  types: some("fix", "5"),
  since: fc.constantFrom("2026-11-16T12", "2026-11-17T00"),
  until: fc.constantFrom("2026-11-16T20", "2026-11-15T15"),
};
/** None, or one or two: with more, hardly a line is left. */
const aFilter: fc.Arbitrary<LineFilter> = fc
  .tuple(fc.subarray(Object.keys(kinds), { maxLength: 2 }), fc.record(kinds))
  .map(([keys, all]) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key))),
  );

function write(folder: string, days: readonly Day[]): void {
  mkdirSync(folder);
  for (const [i, { lines, tail, closed }] of days.entries()) {
    const content = `${lines.map((one) => `${one}\n`).join("")}${tail}`;
    writeFileSync(join(folder, `${DAYS[i]}.jsonl`), content);
    if (closed === null) continue;
    const bytes = Math.floor((Buffer.byteLength(content) * closed) / 100);
    writeFileSync(join(folder, `${DAYS[i]}.closing`), "");
    writeFileSync(join(folder, `${DAYS[i]}.closed`), `${bytes}\n`);
  }
}

/** By reading everything. */
async function naively(sources: readonly LedgerSource[], filter: LineFilter, count: number) {
  const all: Entry[] = [];
  for await (const line of linesNow(sources, filter)) all.push(line);
  const lines = count === 0 ? [] : all.slice(-count);
  return { lines, more: all.length - lines.length };
}

it("finds the last lines of any ledger as a reading of all of it does", async () => {
  const folder = newFolder();
  let n = 0;
  const days = fc.array(dayOf(anyText), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(days, aFilter, fc.nat(12), async (given, filter, count) => {
      const source = { name: "run", folder: join(folder, `${n++}`), room: "queue" };
      write(source.folder, given);
      expect(await lastLines([source], filter, count)).toEqual(
        await naively([source], filter, count),
      );
    }),
    { numRuns: 300 },
  );
});

it("merges several ledgers in the order of their times", async () => {
  const folder = newFolder();
  let n = 0;
  const inOrder = fc
    .tuple(dayOf(text), dayOf(text), dayOf(text))
    .map((days) => days.map((day, i) => ({ ...day, tail: "", lines: sortedOn(i, day.lines) })));
  const ledgers = fc.tuple(inOrder, inOrder, inOrder);
  await fc.assert(
    fc.asyncProperty(ledgers, aFilter, fc.nat(30), async (given, filter, count) => {
      const sources = ["run", "crew", "warden"].map((name) => ({
        ...{ name, folder: join(folder, `${name}${n++}`), room: name },
      }));
      for (const [i, source] of sources.entries()) write(source.folder, given[i] ?? []);
      expect(await lastLines(sources, filter, count)).toEqual(
        await naively(sources, filter, count),
      );
    }),
    { numRuns: 300 },
  );
});

/** With times of that day, the earliest first. */
function sortedOn(day: number, lines: readonly string[]): string[] {
  return lines.map((one) => one.replace(/2026-11-1\d/, DAYS[day] ?? "")).sort();
}

it("leaves out lines behind the given position, and counts only so many that are left out", async () => {
  const source = { name: "run", folder: join(newFolder(), "ledger"), room: "queue" };
  const line = (n: number) =>
    JSON.stringify({ at: "2026-11-15T10", event: "ended", task: `t.${n}` });
  const lines = Array.from({ length: 2 * MOST_COUNTED }, (_, i) => line(i));
  write(source.folder, [{ lines, tail: "", closed: null }]);
  const to = followLedgers([source]).position();
  writeFileSync(join(source.folder, "2026-11-16.jsonl"), `${line(-1)}\n`);
  const { lines: last, more } = await lastLines([source], {}, 2, to);
  const ends = [2, 1].map((n) => `t.${2 * MOST_COUNTED - n}`);
  expect(last.map(({ task }) => task)).toEqual(ends);
  expect(more).toBe(MOST_COUNTED);
});
