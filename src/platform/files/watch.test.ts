import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { stampOf, watchFolders, watchPaths, watchSizes } from "./watch.ts";

it("calls back with the name of what came into a folder, until it is ended", async () => {
  const folder = newFolder();
  const names = new Set<string | null>();
  const end = watchPaths([folder], (name) => names.add(name));
  writeFileSync(join(folder, "a"), "");
  await until("the callback", () => names.has("a"));
  end();
  end();
  writeFileSync(join(folder, "b"), "");
  await new Promise(setImmediate);
  expect(names.has("b")).toBe(false);
});

it("reports a path that cannot be watched, and rescans for it", async () => {
  let [lost, calls] = [0, 0];
  const end = watchPaths([join(newFolder(), "later")], () => calls++, {
    rescanMs: 1,
    onLost: () => lost++,
  });
  onTestFinished(end);
  await until("it has rescanned", () => calls > 1);
  expect(lost).toBe(1);
});

it("makes folders that are missing, and takes a burst for one change", async () => {
  const folder = join(newFolder(), "x/y");
  let calls = 0;
  onTestFinished(watchFolders([folder], () => calls++));
  expect(existsSync(folder)).toBe(true);
  for (let n = 0; n < 20; n++) writeFileSync(join(folder, `${n}`), "");
  await until("the callback", () => calls > 0);
  expect(calls).toBe(1);
});

it("calls back when a file has another size, also one that comes later", async () => {
  const folder = newFolder();
  const [there, later] = [join(folder, "there"), join(folder, "later")];
  writeFileSync(there, "");
  let calls = 0;
  onTestFinished(watchSizes([there, later], () => calls++));
  appendFileSync(there, "x");
  await until("it has grown", () => calls === 1);
  writeFileSync(later, "x");
  await until("it has come", () => calls === 2);
  onTestFinished(watchSizes([], () => calls++));
});

it("stamps change with the file", () => {
  const folder = newFolder();
  const path = join(folder, "a");
  const stamps = [stampOf(path)];
  writeFileSync(path, "1");
  stamps.push(stampOf(path));
  writeFileSync(path, "22");
  stamps.push(stampOf(path));
  mkdirSync(join(folder, "b"));
  stamps.push(stampOf(join(path, "below")));
  expect(new Set(stamps).size).toBe(4);
  expect(stamps[0]).toBe("-");
});
