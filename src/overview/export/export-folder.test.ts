import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { ExportFolder } from "./export-folder.ts";

let parent: string;
let dir: string;
let run: string;
beforeEach(() => {
  parent = newFolder();
  dir = join(parent, "site");
  run = join(parent, "run");
  mkdirSync(run);
});

function made(text: string) {
  const folder = ExportFolder.begin(dir, run);
  folder.write("index.html", text);
  return folder.publish();
}

const index = () => readFileSync(join(dir, "index.html"), "utf8");
const beside = () => readdirSync(parent).filter((name) => name.startsWith("."));
const mark = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);

describe("an export's folder", () => {
  it("is replaced whole, and leaves nothing beside it", () => {
    mkdirSync(dir); // an empty one is taken, too
    expect(made("one")).toMatchObject({ files: 2 });
    made("two");
    expect(index()).toBe("two");
    expect(beside()).toEqual([]);
  });

  it("stays as it was until the new one is complete", () => {
    made("one");
    const folder = ExportFolder.begin(dir, run);
    folder.write("index.html", "two");
    expect(index()).toBe("one");
    folder.discard();
    expect(index()).toBe("one");
    expect(beside()).toEqual([]);
  });

  it("is cleaned up after a process that died; after one that died between the renames, put back", () => {
    made("one");
    const dead = `${mark}.4194300.1`;
    mkdirSync(join(parent, `.site.viv-export.${dead}`));
    renameSync(dir, join(parent, `.site.viv-old.${dead}`));
    const folder = ExportFolder.begin(dir, run);
    expect(index()).toBe("one");
    folder.discard();
    expect(beside()).toEqual([]);
  });

  it("of a process that lives is left alone", () => {
    const alive = `.site.viv-export.${mark}.1.${readFileSync("/proc/1/stat", "utf8").split(" ")[21]}`;
    mkdirSync(join(parent, alive));
    made("one");
    expect(beside()).toEqual([alive]);
  });

  it("is followed through a link", () => {
    mkdirSync(join(parent, "real"));
    symlinkSync("real", dir);
    made("one");
    expect(readFileSync(join(parent, "real/index.html"), "utf8")).toBe("one");
  });
});

function afterOne(name: string): void {
  rmSync(dir, { recursive: true });
  made("one");
  writeFileSync(join(dir, name), "x");
}

describe("is refused", () => {
  it.each([
    ["a folder of a person", () => writeFileSync(join(dir, "thesis.txt"), "x")],
    ["a file of a person beside an export", () => afterOne("CNAME")],
    ["one in it", () => afterOne("tasks/mine.txt")],
    ["a git checkout", () => mkdirSync(join(dir, ".git"))],
    ["a marker that is none", () => writeFileSync(join(dir, ".viv-export.json"), "{}")],
  ])("%s", (_, prepare) => {
    mkdirSync(dir);
    prepare();
    const before = readdirSync(dir, { recursive: true });
    expect(() => made("two")).toThrow(/export to a new folder/);
    expect(readdirSync(dir, { recursive: true })).toEqual(before);
    expect(beside()).toEqual([]);
  });

  it("a file that came while the pages were written", () => {
    made("one");
    const folder = ExportFolder.begin(dir, run);
    writeFileSync(join(dir, "notes.txt"), "mine");
    expect(() => folder.publish()).toThrow(/notes.txt/);
    expect(existsSync(join(dir, "notes.txt"))).toBe(true);
    folder.discard();
  });

  it("a folder in the run, and a file", () => {
    dir = join(run, "site");
    expect(() => made("x")).toThrow(/in the run/);
    dir = join(parent, "file");
    writeFileSync(dir, "x");
    expect(() => made("x")).toThrow(/is no folder/);
  });
});
