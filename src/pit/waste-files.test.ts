import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { wasteFiles } from "./waste-files.ts";

const LOG = "snake-2-20261115T134931.123Z.log";

function newPit() {
  const pit = newFolder();
  for (const folder of ["waste", "scraps", "record"]) mkdirSync(join(pit, folder));
  const write = (path: string, text: string | Buffer) => {
    mkdirSync(join(pit, path, ".."), { recursive: true });
    writeFileSync(join(pit, path), text);
  };
  return { pit, files: wasteFiles(pit), write };
}

async function only(files: ReturnType<typeof wasteFiles>) {
  const [log] = await files.list();
  if (log === undefined) throw new Error("no log is listed");
  return log;
}

describe("listing", () => {
  test("only logs, with size and time, and no link is followed", async () => {
    const { pit, files, write } = newPit();
    write(`waste/${LOG}`, "12345");
    utimesSync(join(pit, "waste", LOG), 1000, 2000);
    write("waste/SUMMARY.md", "");
    write("waste/notes.txt", "");
    write("waste/.hidden-1718000000.log", "");
    write("elsewhere/secret", "secret");
    symlinkSync(join(pit, "elsewhere/secret"), join(pit, "waste/snake-3-1718000000.log"));
    mkdirSync(join(pit, "waste/snake-4-1718000000.log"));
    expect(await files.list()).toEqual([{ name: LOG, size: 5, mtimeMs: 2_000_000 }]);
  });

  test("a pit without waste/ has none", async () => {
    expect(await wasteFiles(newFolder()).list()).toEqual([]);
  });
});

describe("reading", () => {
  test("a short one is head and end in one", async () => {
    const { files, write } = newPit();
    write(`waste/${LOG}`, "# head\nbody\n");
    expect(await files.read(await only(files))).toEqual({
      head: "# head\nbody\n",
      end: "# head\nbody\n",
    });
  });

  test("of a long one the first 4 KiB and the last MiB, from a whole line on", async () => {
    const { files, write } = newPit();
    const body = "0123456789abcde\n".repeat(200_000);
    write(`waste/${LOG}`, `# head\n${body}foot`);
    const { head = "", end = "" } = (await files.read(await only(files))) ?? {};
    expect([head.length, head.slice(0, 10)]).toEqual([4096, "# head\n012"]);
    expect(end.startsWith("0123456789abcde\n")).toBe(true);
    expect(end.endsWith("abcde\nfoot")).toBe(true);
    expect(end.length).toBeLessThanOrEqual(1024 * 1024);
    expect(end.length).toBeGreaterThan(1024 * 1024 - 32);
  });

  test("one that has gone is null; a link or a pipe in its place is refused at once", async () => {
    const { pit, files, write } = newPit();
    const log = { name: LOG, size: 1, mtimeMs: 1 };
    expect(await files.read(log)).toBeNull();
    write("elsewhere", "secret");
    symlinkSync(join(pit, "elsewhere"), join(pit, "waste", LOG));
    await expect(files.read(log)).rejects.toThrow("ELOOP");
    execFileSync("mkfifo", [join(pit, "waste/snake-3.log")]);
    await expect(files.read({ ...log, name: "snake-3.log" })).rejects.toThrow("is not a file");
  });
});

describe("names in scraps/", () => {
  const OTHER = "snake-2-1718000000.log";
  const UMLAUT = "grüne schlange-1718000000.log";

  test.each([
    ["in a sentence", "a.md", `see waste/${LOG}, please`],
    ["without space around it", "a.md", `x${LOG}2`],
    ["in a binary file", "deep/er/a.bin", Buffer.from(`\0\xff${LOG}\0`, "latin1")],
    ["behind much else", "a.md", `${".log".repeat(1000)}${LOG}`],
    ["in a hidden file", ".a", LOG],
  ])("%s", async (_, path, text) => {
    const { files, write } = newPit();
    write(`scraps/${path}`, text);
    expect(await files.mentioned([OTHER, LOG])).toEqual(new Set([LOG]));
  });

  test("wherever a chunk ends", async () => {
    const { files, write } = newPit();
    const names = [LOG, OTHER, UMLAUT];
    const mebi = 1024 * 1024;
    const offsets = fc.oneof(
      fc.integer({ min: mebi - 80, max: mebi + 80 }),
      fc.integer({ min: 2 * mebi - 80, max: 2 * mebi + 80 }),
    );
    await fc.assert(
      fc.asyncProperty(offsets, fc.constantFrom(...names), async (offset, name) => {
        const text = Buffer.alloc(3 * mebi, "x");
        text.write(name, offset);
        write("scraps/big", text);
        expect(await files.mentioned(names)).toEqual(new Set([name]));
      }),
      { numRuns: 60 },
    );
  });

  test("a link counts by where it leads, and is not followed", async () => {
    const { pit, files, write } = newPit();
    write(`waste/${LOG}`, OTHER);
    symlinkSync(`../waste/${LOG}`, join(pit, "scraps/keep"));
    symlinkSync(pit, join(pit, "scraps/round")); // and round
    expect(await files.mentioned([LOG, OTHER])).toEqual(new Set([LOG]));
  });

  test("a pipe is passed by, and scraps/ itself may be a link", async () => {
    const { pit, files, write } = newPit();
    write("far/a.md", LOG);
    execFileSync("mkfifo", [join(pit, "far/pipe")]);
    execFileSync("rmdir", [join(pit, "scraps")]);
    expect(await files.mentioned([LOG])).toEqual(new Set());
    symlinkSync("far", join(pit, "scraps"));
    expect(await files.mentioned([LOG])).toEqual(new Set([LOG]));
  });

  test("names the path that cannot be read", async () => {
    const { pit, files, write } = newPit();
    execFileSync("rmdir", [join(pit, "scraps")]);
    write("scraps", "a file in the place of the folder");
    expect(await files.mentioned([LOG])).toEqual({
      unreadable: `${join(pit, "scraps")} cannot be read (ENOTDIR)`,
    });
  });

  test("so is a file without rights, deep down", async () => {
    const { pit, files, write } = newPit();
    write("scraps/deep/locked.md", "x");
    execFileSync("chmod", ["-R", "a+rX", pit]);
    execFileSync("chmod", ["000", join(pit, "scraps/deep/locked.md")]);
    expect(await withoutRoot(() => files.mentioned([LOG]))).toEqual({
      unreadable: `${join(pit, "scraps/deep/locked.md")} cannot be read (EACCES)`,
    });
  });
});

describe("removing", () => {
  test("removes logs, and ignores those that are gone", async () => {
    const { pit, files, write } = newPit();
    write(`waste/${LOG}`, "x");
    const log = await only(files);
    expect(await files.remove([log, { ...log, name: "gone.log" }])).toEqual([]);
    expect(readdirSync(join(pit, "waste"))).toEqual([]);
  });

  test("keeps a log that was written to since", async () => {
    const { pit, files, write } = newPit();
    write(`waste/${LOG}`, "x");
    const log = await only(files);
    appendFileSync(join(pit, "waste", LOG), "y");
    expect(await files.remove([log])).toEqual([]);
    expect(existsSync(join(pit, "waste", LOG))).toBe(true);
  });

  test("returns a log that cannot be removed", async () => {
    const { pit, files, write } = newPit();
    write(`waste/${LOG}`, "x");
    execFileSync("chmod", ["-R", "a+rX,a-w", pit]);
    const log = await only(files);
    expect(await withoutRoot(() => files.remove([log]))).toEqual([log]);
    execFileSync("chmod", ["-R", "u+w", pit]);
  });

  test("keeps a link with a log's name and its target", async () => {
    const { pit, files, write } = newPit();
    write("precious", "x");
    symlinkSync(join(pit, "precious"), join(pit, "waste", LOG));
    const { size, mtimeMs } = statSync(join(pit, "precious"));
    await files.remove([{ name: LOG, size, mtimeMs }]);
    expect(lstatSync(join(pit, "waste", LOG)).isSymbolicLink()).toBe(true);
    expect(existsSync(join(pit, "precious"))).toBe(true);
  });
});

describe("writing", () => {
  test("replaces the file in one step: an open handle keeps the old one", async () => {
    const { pit, files } = newPit();
    await files.writeText("summary", "one");
    linkSync(join(pit, "waste/SUMMARY.md"), join(pit, "old"));
    await files.writeText("summary", "two");
    expect(await files.readText("summary")).toBe("two");
    expect(readFileSync(join(pit, "old"), "utf8")).toBe("one");
    expect(readdirSync(join(pit, "waste"))).toEqual(["SUMMARY.md"]);
  });

  test("ignores a temporary file of a crash, and a link in its place", async () => {
    const { pit, files, write } = newPit();
    write("precious", "x");
    symlinkSync(join(pit, "precious"), join(pit, "waste/.SUMMARY.md.new"));
    symlinkSync(join(pit, "precious"), join(pit, "waste/SUMMARY.md"));
    expect(await files.readText("summary")).toBeNull();
    await files.writeText("summary", "text");
    expect(await files.readText("summary")).toBe("text");
    expect(readFileSync(join(pit, "precious"), "utf8")).toBe("x");
  });

  test("creates missing folders; a missing file is null", async () => {
    const files = wasteFiles(newFolder());
    expect(await files.readText("record")).toBeNull();
    for (const file of ["record", "summary", "memo"] as const) {
      await files.writeText(file, file);
      expect(await files.readText(file)).toBe(file);
    }
  });

  test("a record that cannot be read is an error, not an empty record", async () => {
    const { pit, files } = newPit();
    mkdirSync(join(pit, "record/waste.json"));
    await expect(files.readText("record")).rejects.toThrow();
  });

  test("a bad record is set aside under a name with the time", async () => {
    const { pit, files, write } = newPit();
    write("record/waste.json", "{");
    expect(await files.setRecordAside(123)).toBe("waste.json.bad-123");
    expect(readdirSync(join(pit, "record"))).toEqual(["waste.json.bad-123"]);
  });
});

/** Root may do everything: then it acts as another user for a while. */
async function withoutRoot<T>(act: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return act();
  process.seteuid?.(65534);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
  }
}
