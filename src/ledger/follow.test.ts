import { appendFileSync, mkdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { followLedgers, type LedgersNews } from "./follow.ts";

let folder = "";

beforeEach(() => {
  folder = newFolder("viv-follow-");
});

function sourcesIn(place: string) {
  return ["run", "crew"].map((name) => ({ name, folder: join(place, name), room: name }));
}

function write(place: string, source: string, day: string, n: number): void {
  mkdirSync(join(place, source), { recursive: true });
  const line = { at: `${day}T00:00:00.000Z`, event: "step", n };
  appendFileSync(join(place, source, `${day}.jsonl`), `${JSON.stringify(line)}\n`);
}

async function numbers(feed: LedgersNews, most = Number.POSITIVE_INFINITY) {
  const found: number[] = [];
  for await (const { line } of feed.news()) {
    found.push(Number(line.n));
    if (found.length >= most) break;
  }
  return found;
}

test("each line once, also when readers stop in the middle and others go on from a position", async () => {
  const writing = fc.record({
    source: fc.constantFrom("run", "crew"),
    day: fc.integer({ min: 1, max: 28 }),
  });
  const stop = fc.record({ stopAfter: fc.nat(4) });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(writing, stop), { maxLength: 40 }), async (events) => {
      const place = join(folder, String(round++));
      const sources = sourcesIn(place);
      const found: number[] = [];
      let feed = followLedgers(sources, { from: "start" });
      let written = 0;
      for (const one of events) {
        if ("day" in one) {
          write(place, one.source, `2026-11-${String(one.day).padStart(2, "0")}`, written++);
        } else {
          if (one.stopAfter > 0) found.push(...(await numbers(feed, one.stopAfter)));
          feed = followLedgers(sources, { from: feed.position() });
          expect(feed.isLost).toBe(false);
        }
      }
      found.push(...(await numbers(feed)));
      expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: written }, (_, i) => i));
      expect(await numbers(feed)).toEqual([]);
    }),
  );
});

test("begins at the end; stamps each line; merges ledgers by time", async () => {
  const sources = sourcesIn(folder);
  write(folder, "run", "2026-11-17", 1);
  const feed = followLedgers(sources);
  appendFileSync(
    join(folder, "run/2026-11-17.jsonl"),
    `{"at":"2026-11-17T03:00:00Z","event":"ended","worker":"w"}\nnot json\n{"no":"event"}\n`,
  );
  write(folder, "crew", "2026-11-17", 2); // at midnight
  const lines = [];
  for await (const { line, source } of feed.news()) lines.push({ ...line, source });
  expect(lines).toMatchObject([
    { source: "crew", room: "crew", agent: "viv", n: 2 },
    { source: "run", room: "run", agent: "w", event: "ended" },
  ]);
});

test("a reader catches up to the place of a shared follower", async () => {
  const sources = sourcesIn(folder);
  for (let n = 0; n < 4; n++) write(folder, n % 2 ? "run" : "crew", "2026-11-17", n);
  const shared = followLedgers(sources);
  write(folder, "run", "2026-11-17", 4);
  const late = followLedgers(sources, { from: "start", to: shared.position() });
  expect((await numbers(late)).sort()).toEqual([0, 1, 2, 3]);
  expect(late.position()).toBe(shared.position());
  expect(await numbers(shared)).toEqual([4]);
});

test("a position stays short, a lost file shows, and no other text is a position", () => {
  const sources = sourcesIn(folder);
  for (let day = 1; day <= 28; day++) {
    for (const month of ["08", "09", "10", "11"]) {
      write(folder, "run", `2026-${month}-${String(day).padStart(2, "0")}`, day);
    }
  }
  const position = followLedgers(sources).position();
  expect(position.split(",")).toHaveLength(30 + 1 + 1);
  expect(position).toMatch(/^[A-Za-z0-9/=,-]+$/);
  expect(followLedgers(sources, { from: position }).position()).toBe(position);
  truncateSync(join(folder, "run/2026-11-20.jsonl"), 3);
  expect(followLedgers(sources, { from: position }).isLost).toBe(true);
  rmSync(join(folder, "run"), { recursive: true });
  expect(followLedgers(sources, { from: position }).isLost).toBe(true);
  for (const from of [
    "x y",
    "run/2026-11-20=",
    "run,",
    "../x",
    `run/2026-11-20=${"9".repeat(20)}`,
  ]) {
    expect(() => followLedgers(sources, { from })).toThrow("no position");
  }
});

test("tells of news", async () => {
  const sources = sourcesIn(folder);
  mkdirSync(join(folder, "run"));
  const feed = followLedgers(sources);
  const told = new Promise<void>((resolve) => {
    const stop = feed.onNews(() => {
      stop();
      resolve();
    });
  });
  write(folder, "run", "2026-11-17", 1);
  await told;
  expect(await numbers(feed)).toEqual([1]);
});
