import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { settled } from "../../../test/support/up-host.ts";
import { readPaced } from "./paced.ts";

const CHUNK = 64 * 1024;
const PACE = { bytes: 4 * CHUNK, everyMs: 100 };

/** A writer without end, and a clock that others tick on. */
function scene() {
  const endless = new Readable({
    highWaterMark: CHUNK,
    read() {
      this.push(Buffer.alloc(CHUNK, "y\n"));
    },
  });
  const timers: { ms: number; act: () => void }[] = [];
  let handled = 0;
  const end = readPaced(
    endless,
    PACE,
    () => {
      handled++;
    },
    (ms, act) => {
      const timer = { ms, act };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  );
  return { endless, timers, end, handled: () => handled };
}

it("lets others tick: between two ticks, a writer without end is read only up to the pace", async () => {
  const { endless, timers, handled } = scene();
  const perTick: number[] = [];
  let before = 0;
  for (let tick = 0; tick < 20; tick++) {
    await settled();
    perTick.push(handled() - before);
    before = handled();
    expect(timers.map(({ ms }) => ms)).toEqual([100]);
    timers.shift()?.act();
  }
  endless.destroy();
  // One chunk may be on its way already.
  expect(Math.max(...perTick)).toBeLessThanOrEqual(5);
  expect(Math.min(...perTick)).toBeGreaterThanOrEqual(4);
});

it("reads the rest at once when it is to end, and leaves no timer", async () => {
  const chunks = Array.from({ length: 40 }, () => Buffer.alloc(CHUNK));
  const stream = Readable.from(chunks, { objectMode: false });
  const timers = new Set<() => void>();
  let bytes = 0;
  const end = readPaced(
    stream,
    PACE,
    (chunk) => {
      bytes += chunk.length;
    },
    (_, act) => {
      timers.add(act);
      return () => timers.delete(act);
    },
  );
  await settled();
  expect([bytes <= 5 * CHUNK, timers.size]).toEqual([true, 1]);
  const ended = new Promise((resolve) => stream.once("end", resolve));
  end();
  await ended;
  expect([bytes, timers.size]).toEqual([40 * CHUNK, 0]);
});

it("without a pace reads as it comes", async () => {
  const stream = Readable.from([Buffer.alloc(10 * CHUNK)], { objectMode: false });
  let bytes = 0;
  readPaced(stream, undefined, (chunk) => {
    bytes += chunk.length;
  });
  await new Promise((resolve) => stream.once("end", resolve));
  expect(bytes).toBe(10 * CHUNK);
});
