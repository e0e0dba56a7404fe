import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holds } from "../../../../test/support/property.ts";
import { LedgerWriter } from "../../../ledger/writer.ts";
import { openRun } from "../../../main.ts";
import { RunLedgerFollower as LedgerFollower, linesAbout, readLedger } from "./ledger-files.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "viv-ledger-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const DAY = 86_400_000;
const NOW = Date.parse("2026-11-15T12:00:00Z");

/** The sum of the lines of one look. */
function look(follower: LedgerFollower): number {
  let sum = 0;
  for (const { line } of follower.lines()) sum += line.usd as number;
  return sum;
}

test("writers with any clocks, lines in any files: readers have each line once", () => {
  const write = fc.record({
    writer: fc.nat(3),
    usd: fc.nat(100),
    daysOff: fc.integer({ min: -400, max: 400 }),
    isSoon: fc.boolean(),
  });
  const event = fc.oneof(
    { weight: 5, arbitrary: write },
    fc.constantFrom("look" as const, "restart" as const),
  );
  let run = 0;
  holds(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const own = join(folder, String(run++));
      mkdirSync(own);
      const writers = Array.from({ length: 4 }, () => new LedgerWriter(own));
      let follower = new LedgerFollower(own);
      let [written, read] = [0, 0];
      for (const one of events) {
        if (one === "look") read += look(follower);
        // Another process goes on with what this one has kept.
        else if (one === "restart") {
          follower = new LedgerFollower(own, Object.entries(follower.position));
        } else {
          const { usd, isSoon } = one;
          const at = new Date(NOW + one.daysOff * DAY).toISOString();
          const writer = writers[one.writer] as LedgerWriter;
          const line = JSON.stringify({ at, event: "step", usd });
          if (isSoon) writer.appendSoon(at, line, true);
          else writer.append(at, line, false);
          written += usd;
        }
      }
      read += look(follower);
      expect(read).toBe(written);
      expect([...readLedger(own)].reduce((sum, { usd }) => sum + Number(usd), 0)).toBe(read);
      for (const writer of writers) writer.close();
    }),
  );
});

test("a line is reported when it is whole; a file that lost its end is read anew", () => {
  const path = join(folder, "2026-11-15.jsonl");
  const follower = new LedgerFollower(folder);
  writeFileSync(path, '{"usd":1}\n{"us');
  expect(look(follower)).toBe(1);
  expect(look(follower)).toBe(0);
  appendFileSync(path, 'd":2}\nnot json\nnull\n');
  expect(look(follower)).toBe(2);
  truncateSync(path, 10);
  expect(look(follower)).toBe(1);
});

test("skips anything but regular files, also a pipe that would be waited for", () => {
  mkdirSync(join(folder, "2026-11-13.jsonl"));
  execFileSync("mkfifo", [join(folder, "2026-11-14.jsonl")]);
  writeFileSync(join(folder, "2026-11-15.jsonl"), '{"usd":3,"task":"a"}\n');
  expect(look(new LedgerFollower(folder))).toBe(3);
  expect([...linesAbout(folder, "a")]).toHaveLength(1);
});

test("lines about a task are found in every file, at the edges of what is read at once", () => {
  const filler = (bytes: number) => `{"filler":"${"x".repeat(bytes - 14)}"}\n`;
  const wanted = '{"task":"a","n":1}\n';
  const text = filler(1024 * 1024 - 5) + wanted + filler(2_500_000) + wanted + wanted;
  writeFileSync(join(folder, "2026-11-15.jsonl"), `${text}{"task":"a","torn`);
  writeFileSync(join(folder, "2020-01-01.jsonl"), `${wanted}{"task":"ab"}\n`);
  expect([...linesAbout(folder, "a")]).toEqual(
    Array.from({ length: 4 }, () => ({ task: "a", n: 1 })),
  );
});

test("a projection as earlier versions wrote it, or that makes no sense, is begun anew", async () => {
  const run = join(folder, "run");
  const projections = [
    '{"file":"2999-01-01.jsonl","offset":7,"open":[]}',
    '{"read":{"2999-01-01.jsonl":-1},"open":[]}',
    '{"read":{},"open":{}}',
    '{"read":[],"open":[7,"../x"]}',
    "null",
    "",
  ];
  for (const [i, text] of projections.entries()) {
    const store = await openRun(run, { create: true });
    if (i === 0) await store.initStatus("r", {});
    await store.enqueue({ id: `t${i}`, type: "t" });
    const [claim] = await store.claim({ worker: "w" });
    await store.complete({ id: `t${i}`, worker: "w", token: claim?.token ?? "" });
    writeFileSync(join(run, ".viv/projection.json"), text);
    await store.flushStatus();
    const status = await store.readStatus();
    expect(status?.checkpoint.completed_tasks, text).toContain(`t${i}`);
    expect(status?.checkpoint.completed_tasks).toHaveLength(i + 1);
    await store.close();
  }
});
