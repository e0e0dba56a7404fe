import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { readTrusted } from "./owned.ts";

it("a text is read from a file, and nothing else keeps its reader waiting", () => {
  const folder = newFolder("viv-texts-");
  const at = (name: string) => join(folder, name);
  writeFileSync(at("def.org"), "You are moss.\n");
  mkdirSync(at("folder"));
  execFileSync("mkfifo", [at("pipe")]);
  writeFileSync(at("long"), "");
  truncateSync(at("long"), 16 * 1024 * 1024 + 1);
  expect(readTrusted(at("def.org"))).toBe("You are moss.\n");
  expect(() => readTrusted(at("nowhere"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
  expect(() => readTrusted(at("folder"))).toThrow(expect.objectContaining({ code: "EISDIR" }));
  expect(() => readTrusted(at("pipe"))).toThrow("it is no file");
  expect(() => readTrusted("/dev/zero")).toThrow("it is no file");
  expect(() => readTrusted(at("long"))).toThrow("it is longer than 16 MiB");
});
