import { execFileSync } from "node:child_process";
import {
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { cannotMount, mountTmpfs } from "../../../test/support/mounts.ts";
import { Outage } from "../../../test/support/outage.ts";
import { counted } from "../../base/text.ts";
import { CappedLog } from "./capped-log.ts";

const FULL = "\n[viv: the log is full; from here on only its end is kept]\n";
const dropped = (bytes: number) => `\n[viv: ${counted(bytes, "byte")} dropped]\n`;
const newPath = () => join(newFolder(), "a.log");
const read = (path: string) => readFileSync(path, "latin1");

function writeAll(path: string, limit: number, chunks: readonly Buffer[]): CappedLog {
  const log = new CappedLog(path, limit);
  for (const chunk of chunks) log.write(chunk);
  log.close();
  return log;
}

test("what fits into the first half can be read at once", () => {
  const path = newPath();
  const log = new CappedLog(path, 20);
  log.write(Buffer.from("12345"));
  expect(read(path)).toBe("12345");
  log.write(Buffer.from("67890"));
  expect(read(path)).toBe("1234567890");
  log.close();
  expect(read(path)).toBe("1234567890");
  expect(log.dropped).toBe(0);
});

test("then a line says that it is full, and the end comes with close", () => {
  const path = newPath();
  const log = new CappedLog(path, 20);
  log.write(Buffer.from("1234567890abc"));
  expect(read(path)).toBe(`1234567890${FULL}`);
  log.write(Buffer.from("def"));
  expect(read(path)).toBe(`1234567890${FULL}`);
  log.close();
  expect(read(path)).toBe(`1234567890${FULL}abcdef`);
  expect(log.dropped).toBe(0);
});

test("whatever is written, head and tail are kept, half each", () => {
  const path = newPath();
  writeFileSync(path, ""); // a program without output gets no file: see below
  const chunk = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 30 }), fc.nat({ max: 200 }), (chunks, limit) => {
      const log = writeAll(path, limit, chunks);
      const all = Buffer.concat(chunks).toString("latin1");
      const half = Math.floor(limit / 2);
      const rest = all.slice(half);
      const end = rest.slice(Math.max(0, rest.length - (limit - half)));
      const lost = rest.length - end.length;
      const middle = rest === "" ? "" : FULL + (lost > 0 ? dropped(lost) : "");
      expect(read(path)).toBe(all.slice(0, half) + middle + end);
      expect(log.dropped).toBe(lost);
    }),
    { numRuns: 500 },
  );
});

test("the end grows with what comes, and keeps its order when it is full", () => {
  const path = newPath();
  const sizes = [30_000, 3_000, 1, 9_000, 4_096, 8_000, 33_333, 7, 9_999, 60_000, 12_345];
  let written = 0;
  const chunks = sizes.map((size) =>
    Buffer.from(Array.from({ length: size }, () => written++ % 251)),
  );
  for (let count = 1; count <= chunks.length; count++) {
    const some = chunks.slice(0, count);
    const log = writeAll(path, 50_000, some);
    const all = Buffer.concat(some).toString("latin1");
    const lost = Math.max(0, all.length - 50_000);
    const middle = FULL + (lost > 0 ? dropped(lost) : "");
    expect(read(path) === all.slice(0, 25_000) + middle + all.slice(25_000).slice(-25_000)).toBe(
      true,
    );
    expect(log.dropped).toBe(lost);
  }
});

test("the tail is the last that was written, up to 8 KiB, whatever became of the file", () => {
  const log = new CappedLog(newPath(), 10);
  expect(log.tail()).toBe("");
  log.write(Buffer.from("first\n"));
  expect(log.tail()).toBe("first\n");
  log.write(Buffer.alloc(10_000, "x"));
  log.write(Buffer.from("last\n"));
  expect(log.tail()).toBe(`${"x".repeat(8 * 1024 - 5)}last\n`);
  expect(log.tail(7)).toBe("xxlast\n");
  log.close();
  expect(log.tail(5)).toBe("last\n");
});

test("the tail begins with a whole character", () => {
  const log = new CappedLog(newPath(), 1000);
  log.write(Buffer.from("naïve €"));
  expect(log.tail(3)).toBe("€");
  expect(log.tail(2)).toBe("");
  expect(log.tail(7)).toBe("ve €");
  expect(log.tail(8)).toBe("ïve €");
  log.write(Buffer.alloc(8 * 1024 - 2, "x"));
  expect(log.tail()).toBe("x".repeat(8 * 1024 - 2));
  log.close();
});

test("a log is begun anew, for its owner alone", () => {
  const path = newPath();
  writeAll(path, 100, [Buffer.from("a long first attempt")]);
  writeAll(path, 100, [Buffer.from("second")]);
  expect(read(path)).toBe("second");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("what the handler itself adds to the file is not overwritten", () => {
  const path = newPath();
  const log = new CappedLog(path, 100);
  log.write(Buffer.from("one "));
  writeFileSync(path, "two ", { flag: "a" });
  log.write(Buffer.from("three"));
  log.close();
  expect(read(path)).toBe("one two three");
});

test("a link in its place is not followed", () => {
  const folder = newFolder();
  const [path, target] = [join(folder, "a.log"), join(folder, "target")];
  writeFileSync(target, "precious");
  symlinkSync(target, path);
  expect(() => new CappedLog(path, 100)).toThrow(/ELOOP/);
  expect(read(target)).toBe("precious");
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

test("a pipe in its place is neither waited for nor written to", () => {
  const path = newPath();
  execFileSync("mkfifo", [path]);
  expect(() => new CappedLog(path, 100)).toThrow();
});

const openFiles = () => readdirSync("/proc/self/fd").length;

test.skipIf(cannotMount)(
  "a full disk is not thrown, and a line says how much it did not take",
  () => {
    const folder = newFolder();
    mountTmpfs(folder, "size=64k");
    const [path, filler] = [join(folder, "a.log"), join(folder, "filler")];
    writeFileSync(filler, Buffer.alloc(20_000));
    const before = openFiles();
    const log = new CappedLog(path, 4_000_000);
    const chunk = Buffer.alloc(10_000, "x");
    for (let i = 0; i < 100; i++) log.write(chunk);
    expect(log.error?.message).toMatch(/ENOSPC/);
    const { size } = statSync(path);
    rmSync(filler); // there is room again
    log.write(Buffer.from("and on"));
    expect(log.tail(6)).toBe("and on");
    log.close();
    const lost = 1_000_000 - size;
    expect(read(path).slice(size)).toBe(`\n[viv: ${lost} bytes could not be written here]\nand on`);
    expect(log.dropped).toBe(lost);
    expect(openFiles()).toBe(before);
  },
);

test("an old log that cannot be opened at first is begun anew when it can", () => {
  const path = newPath();
  writeFileSync(path, "an earlier attempt");
  const outage = new Outage("EMFILE", (name) => name === "openSync");
  outage.begin();
  const log = new CappedLog(path, 1_000);
  log.write(Buffer.from("lost"));
  outage.close();
  log.write(Buffer.from("kept"));
  log.close();
  expect(read(path)).toBe("\n[viv: 4 bytes could not be written here]\nkept");
});

test.skipIf(cannotMount)("what is lost when the disk gets full is counted once", () => {
  const folder = newFolder();
  mountTmpfs(folder, "size=64k");
  const path = join(folder, "a.log");
  // The note that the log is full does not fit any more; nor does, in the other case, the end.
  const [note, end] = [2 * 65_536, 2 * 40_000].map((limit) => {
    const log = writeAll(path, limit, [Buffer.alloc(100_000, "x")]);
    log.close();
    expect(log.error?.message).toMatch(/ENOSPC/);
    return log.dropped;
  });
  expect(note).toBe(100_000 - 65_536);
  expect(end).toBe(100_000 - (statSync(path).size - FULL.length - dropped(20_000).length));
});

test.skipIf(cannotMount)("a disk without room for the file leaves the tail", () => {
  const folder = newFolder();
  mountTmpfs(folder, "nr_inodes=1");
  const log = writeAll(join(folder, "a.log"), 100, [Buffer.from("said")]);
  expect(log.error?.message).toMatch(/ENOSPC/);
  expect(log.tail()).toBe("said");
  expect(log.dropped).toBe(4);
});

test("memory is taken only by what does not fit into the first half", () => {
  const before = process.memoryUsage().arrayBuffers;
  const folder = newFolder();
  const logs = Array.from({ length: 32 }, (_, i) => new CappedLog(join(folder, `${i}`), 10e6));
  const line = Buffer.from("a line of a handler that says little\n");
  for (const log of logs) log.write(line);
  const taken = process.memoryUsage().arrayBuffers - before;
  for (const log of logs) log.close();
  expect(taken).toBeLessThan(1e6);
});
