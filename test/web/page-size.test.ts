import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const built = new URL("../../dist/web/", import.meta.url).pathname;
const files = readdirSync(built, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

test("the whole page is at most 120 kB gzipped", () => {
  const bytes = files.reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
  expect(bytes).toBeLessThanOrEqual(120_000);
});

test("nothing is inline, and nothing comes from another host", () => {
  const page = readFileSync(join(built, "index.html"), "utf8");
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/);
  for (const [, address = ""] of page.matchAll(/(?:src|href)="([^"]*)"/g)) {
    expect(address).toMatch(/^\/assets\//);
  }
});

test("no source writes HTML or runs text", () => {
  const folder = new URL("../../web/src/", import.meta.url).pathname;
  const sources = readdirSync(folder, { recursive: true }).map(String);
  const bad = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/i;
  const guilty = sources
    .filter((name) => /\.tsx?$/.test(name))
    .filter((name) => bad.test(readFileSync(join(folder, name), "utf8")));
  expect(guilty).toEqual([]);
});

test("of the rooms in src/ the page takes types, and pure functions of base/", () => {
  const folder = new URL("../../web/src/", import.meta.url).pathname;
  const bad: string[] = [];
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    if (!/\.tsx?$/.test(name)) continue;
    const text = readFileSync(join(folder, name), "utf8");
    for (const [, words = "", room = ""] of text.matchAll(
      /^import ([^;]*?) from "(?:\.\.\/)+src\/(\w+)\/[^"]*";/gm,
    )) {
      if (!words.startsWith("type ") && room !== "base") bad.push(`${name}: ${room}`);
    }
  }
  expect(bad).toEqual([]);
});
