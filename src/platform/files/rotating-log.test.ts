import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { cannotMount, mountTmpfs } from "../../../test/support/mounts.ts";
import { RotatingLog } from "./rotating-log.ts";

const line = (n: number) => `{"kind":"said","n":${n}}\n`;
const write = (log: RotatingLog, n: number) => log.write(Buffer.from(line(n)));

test("goes on with a new line behind one that was cut off", () => {
  const path = join(newFolder(), "up.log");
  const first = new RotatingLog(path, 1_000_000);
  write(first, 1);
  first.close();
  appendFileSync(path, '{"kind":"sa'); // power failed
  const second = new RotatingLog(path, 1_000_000);
  write(second, 2);
  write(second, 3);
  second.close();
  expect(readFileSync(path, "utf8")).toBe(`${line(1)}{"kind":"sa\n${line(2)}${line(3)}`);
});

test.skipIf(cannotMount)("a full disk cuts off one line, and the next is whole", () => {
  const folder = newFolder();
  mountTmpfs(folder, "size=64k");
  const path = join(folder, "up.log");
  const filler = join(folder, "filler");
  writeFileSync(filler, Buffer.alloc(60 * 1024));
  const log = new RotatingLog(path, 1_000_000);
  let n = 0;
  while (n < 1_000) write(log, n++);
  rmSync(filler);
  write(log, n);
  log.close();
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(lines.pop()).toBe(line(n).trimEnd());
  const isWhole = (text: string, at: number) => text === line(at).trimEnd();
  expect(lines.filter((text, at) => !isWhole(text, at))).toHaveLength(1);
});
