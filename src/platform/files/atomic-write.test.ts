import {
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Faults } from "../../../test/support/faults.ts";
import { newFolder } from "../../../test/support/folders.ts";
import {
  createFileSynced,
  createIfAbsentUnsynced,
  isTemporary,
  replaceFileSynced,
  replaceFileUnsynced,
} from "./atomic-write.ts";

const read = (path: string) => readFileSync(path, "utf8");

describe.each([
  ["replaceFileSynced", replaceFileSynced],
  ["replaceFileUnsynced", replaceFileUnsynced],
])("%s", (_, replace) => {
  it("creates and replaces, for this user only, and leaves nothing beside it", () => {
    const folder = newFolder();
    const path = join(folder, "a.json");
    replace(path, "one");
    replace(path, "two");
    expect(read(path)).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["a.json"]);
  });

  it("replaces a link and does not follow it", () => {
    const folder = newFolder();
    const target = join(folder, "target");
    writeFileSync(target, "kept");
    symlinkSync(target, join(folder, "a"));
    replace(join(folder, "a"), "new");
    expect([read(target), read(join(folder, "a"))]).toEqual(["kept", "new"]);
  });

  it.each([1, 2, 3])("leaves the old file and nothing else on a full disk, at change %i", (at) => {
    const folder = newFolder();
    const path = join(folder, "a");
    replace(path, "old");
    const faults = new Faults("enospc", at);
    let error: unknown;
    try {
      replace(path, "new");
    } catch (caught) {
      error = caught;
    } finally {
      faults.heal();
    }
    expect(read(path)).toBe(faults.happened ? "old" : "new");
    if (faults.happened) expect(error).toMatchObject({ code: "ENOSPC" });
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  it("removes what a crash left under a fixed other name, and takes another mode", () => {
    const folder = newFolder();
    const temporary = join(folder, ".a.new");
    writeFileSync(temporary, "torn");
    chmodSync(temporary, 0o400);
    replace(join(folder, "a"), "whole", { temporary, mode: 0o644 });
    expect(read(join(folder, "a"))).toBe("whole");
    expect(statSync(join(folder, "a")).mode & 0o777).toBe(0o644 & ~process.umask());
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  it("leaves a name that can be recognised when the process dies before the last step", () => {
    const folder = newFolder();
    const path = join(folder, "a");
    replace(path, "old");
    const faults = new Faults("die", 3);
    expect(() => replace(path, "new")).toThrow();
    faults.heal();
    expect(read(path)).toBe("old");
    const left = readdirSync(folder).filter((name) => name !== "a");
    expect(left).toHaveLength(1);
    expect(left.every(isTemporary)).toBe(true);
  });
});

it("createFileSynced throws EEXIST and leaves what is there", () => {
  const folder = newFolder();
  const path = join(folder, "a");
  createFileSynced(path, "first");
  expect(() => createFileSynced(path, "second")).toThrow(
    expect.objectContaining({ code: "EEXIST" }),
  );
  expect(read(path)).toBe("first");
  expect(readdirSync(folder)).toEqual(["a"]);
});

it("createIfAbsentUnsynced says whether it created the file", () => {
  const folder = newFolder();
  const path = join(folder, "a");
  expect(createIfAbsentUnsynced(path, "first")).toBe(true);
  expect(createIfAbsentUnsynced(path, "second")).toBe(false);
  expect(read(path)).toBe("first");
  expect(readdirSync(folder)).toEqual(["a"]);
  expect(() => createIfAbsentUnsynced(join(folder, "no/a"), "")).toThrow("ENOENT");
});

it("isTemporary knows only names that a write makes", () => {
  expect(["a.json", ".lock", ".a.new", ".a.0123456", ".0123abcd"].filter(isTemporary)).toEqual([]);
  expect(isTemporary(".a.json.0123abcd")).toBe(true);
});
