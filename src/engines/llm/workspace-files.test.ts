import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import {
  editFile,
  inside,
  listFiles,
  openWorkspace,
  readFile,
  ToolError,
  type Workspace,
  writeFile,
} from "./workspace-files.ts";

let cwd: string;
let outer: string;
let place: Workspace;

beforeEach(() => {
  outer = newFolder();
  cwd = join(outer, "work");
  mkdirSync(cwd);
  writeFileSync(join(outer, "secret"), "secret");
  place = openWorkspace(cwd);
});

const write = (path: string, content = "x") => writeFile(place, { path, content });
const put = (path: string, content: string | Buffer) => writeFileSync(join(cwd, path), content);
const get = (path: string) => readFileSync(join(cwd, path), "utf8");

describe("the workspace is not left", () => {
  const ways = [
    ["..", () => "../secret"],
    ["a detour", () => "a/../../secret"],
    ["an absolute path", () => join(outer, "secret")],
    ["a folder with the same beginning", () => `${cwd}2/x`],
    ["a link to a file", () => link("../secret", "file-link")],
    ["a link to a folder", () => `${link("..", "folder-link")}/secret`],
    ["a link to nowhere", () => link("../new", "dangling")],
    ["a link to a link", () => link(link("../secret", "one"), "two")],
    ["a zero byte", () => "a\0b"],
  ] as const;

  function link(to: string, name: string): string {
    symlinkSync(to, join(cwd, name));
    return name;
  }

  test.each(ways)("by %s", (_, make) => {
    const path = make();
    expect(() => write(path)).toThrow(ToolError);
    expect(() => readFile(place, { path }, 100)).toThrow(ToolError);
    expect(() => editFile(place, { path, old: "secret", new: "x" })).toThrow(ToolError);
    expect(readFileSync(join(outer, "secret"), "utf8")).toBe("secret");
    expect(existsSync(join(outer, "new"))).toBe(false);
    expect(existsSync(`${cwd}2`)).toBe(false);
  });

  test("links that stay inside are followed, and so is the workspace when it is one", () => {
    put("real", "old");
    symlinkSync("real", join(cwd, "alias"));
    symlinkSync(cwd, join(outer, "also"));
    const other = openWorkspace(join(outer, "also"));
    writeFile(other, { path: "alias", content: "1" });
    expect(get("real")).toBe("1");
    writeFile(other, { path: join(outer, "also/real"), content: "2" });
    writeFile(other, { path: join(cwd, "deep/er"), content: "3" });
    expect([get("real"), get("deep/er")]).toEqual(["2", "3"]);
  });

  test("whatever the path is", () => {
    const part = fc.constantFrom("..", ".", "a", "b", "/", "", "link", "work");
    symlinkSync(outer, join(cwd, "link"));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        let path: string;
        try {
          path = inside(place, parts.join("/"));
        } catch (error) {
          expect(error).toBeInstanceOf(ToolError);
          return;
        }
        expect(path === place.root || path.startsWith(`${place.root}/`)).toBe(true);
      }),
    );
  });
});

test("pipes and folders are neither read nor written", () => {
  execFileSync("mkfifo", [join(cwd, "pipe")]);
  mkdirSync(join(cwd, "folder"));
  for (const path of ["pipe", "folder"]) {
    expect(() => readFile(place, { path }, 100)).toThrow(/is not a file|is a folder/);
    expect(() => write(path)).toThrow(/is not a file|is a folder/);
  }
  expect(() => readFile(place, { path: "none" }, 100)).toThrow("There is no none.");
  put("data", Buffer.from([1, 0, 2]));
  expect(() => readFile(place, { path: "data" }, 100)).toThrow("not a text");
});

test("writing makes folders, replaces the whole, and keeps the mode", () => {
  write("a/b/c.txt", "long content");
  chmodSync(join(cwd, "a/b/c.txt"), 0o750);
  write("a/b/c.txt", "short");
  expect(get("a/b/c.txt")).toBe("short");
  expect(statSync(join(cwd, "a/b/c.txt")).mode & 0o777).toBe(0o750);
});

test("a part of a file is read by its lines; a long one has its middle left out", () => {
  put("f", "1\n2\n3\n4");
  expect(readFile(place, { path: "f", from: 2, lines: 2 }, 100)).toBe("2\n3");
  expect(readFile(place, { path: "f", from: 3 }, 100)).toBe("3\n4");
  expect(() => readFile(place, { path: "f", from: 9 }, 100)).toThrow("only 4 lines");
  put("long", `begin${"x".repeat(1000)}end`);
  expect(readFile(place, { path: "long" }, 20)).toMatch(/^begin.*988 characters left out.*end$/s);
});

describe("editing", () => {
  const edit = (old: string, now: string, all?: boolean) =>
    editFile(place, { path: "f", old, new: now, all });

  test("is exact: no patterns on either side", () => {
    put("f", "a.c abc $1");
    edit("a.c", "$& $1 $$");
    expect(get("f")).toBe("$& $1 $$ abc $1");
  });

  test("needs exactly one place, unless all are meant", () => {
    put("f", "x x x");
    expect(() => edit("x", "y")).toThrow("occurs 3 times");
    expect(() => edit("z", "y")).toThrow("does not occur");
    expect(() => edit("", "y")).toThrow("empty");
    expect(() => edit("x", "x")).toThrow("the same");
    expect(get("f")).toBe("x x x");
    expect(edit("x", "y", true)).toContain("3 places");
    expect(get("f")).toBe("y y y");
  });

  test("does not damage a file that is not UTF-8", () => {
    put("f", Buffer.from([0xe9, 0x61]));
    expect(() => edit("a", "b")).toThrow("not UTF-8");
    expect(readFileSync(join(cwd, "f"))).toEqual(Buffer.from([0xe9, 0x61]));
  });
});

test("a list does not follow links, and skips .git and node_modules", () => {
  for (const folder of [".git", "node_modules/x", "src"]) {
    mkdirSync(join(cwd, folder), { recursive: true });
    put(`${folder}/file`, "");
  }
  symlinkSync(outer, join(cwd, "link"));
  expect(listFiles(place, { recursive: true })).toBe(
    [".git/", "link", "node_modules/", "src/", "src/file"].join("\n"),
  );
  expect(listFiles(place, { path: "src" })).toBe("file");
  for (let i = 0; i < 1_100; i++) put(`src/${i}`, "");
  expect(listFiles(place, { path: "src" }).split("\n")).toHaveLength(1_001);
});
