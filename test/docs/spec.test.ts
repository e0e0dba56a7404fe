import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT_STATUS } from "../../src/base/errors.ts";
import { FINDING_CODES } from "../../src/queue/store.ts";
import { REASON_CODES } from "../../src/work/why.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => pattern.test(path) && !path.includes("node_modules"))
    .map((path) => join(folder, path));
}

const rooms = filesBelow("docs/spec", /\.md$/);
const contract = ["SPEC.md", ...rooms];
const documents = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...contract],
  ...["docs/guide", "examples", "bench"].flatMap((folder) => filesBelow(folder, /\.md$/)),
];

const textOf = new Map(documents.map((path) => [path, read(path)]));
const withoutBlocks = (path: string) => (textOf.get(path) ?? "").replace(/^```[\s\S]*?^```$/gm, "");
const withoutCode = (path: string) => withoutBlocks(path).replace(/`[^`\n]*`/g, "");

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .replace(/[`*]/g, "")
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

function anchorsOf(path: string): string[] {
  return [...withoutBlocks(path).matchAll(/^#+ (.+)$/gm)].map(([, text]) => anchorOf(text ?? ""));
}

/** Numbered sections, wherever in the contract they are. */
const sections = contract.flatMap((file) =>
  [...withoutBlocks(file).matchAll(/^## (\d+)\. (.+)$/gm)].map(([, number, title]) => ({
    number: Number(number),
    title,
    file,
  })),
);
const numbers = sections.map(({ number }) => number);

describe("SPEC.md", () => {
  it("lists every numbered section with its file", () => {
    const rows = [...read("SPEC.md").matchAll(/^\| (\d+) \| (.+?) \| \[(.+?)\]\((.+?)\) \|$/gm)];
    const listed = rows.map(([, number, title, , link = ""]) => ({
      number: Number(number),
      title,
      file: link.startsWith("#") ? "SPEC.md" : link.replace(/#.*/, ""),
    }));
    const byNumber = sections.toSorted((a, b) => a.number - b.number);
    expect(listed).toEqual(byNumber);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
  });

  it("names a test in every row of its matrix", () => {
    const text = read("SPEC.md");
    const rows = text.slice(text.indexOf("## 20.")).match(/^\| (?!promise|---).*$/gm) ?? [];
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows) expect(row).toMatch(/`(?:src|test)\//);
  });

  it("names every finding of the doctor", () => {
    for (const code of FINDING_CODES) expect(read("SPEC.md")).toContain(`\`${code}\``);
  });
});

describe("docs/spec/cli.md", () => {
  const text = read("docs/spec/cli.md");

  it("names every exit status and error code", () => {
    const table = text.slice(text.indexOf("| status | meaning"));
    for (const [code, status] of Object.entries(EXIT_STATUS)) {
      const row = table.split("\n").find((line) => line.startsWith(`| ${status} |`)) ?? "";
      expect(row, code).toContain(code);
    }
  });

  it("names every reason that `why` can give", () => {
    for (const code of REASON_CODES) expect(text).toMatch(new RegExp(`[\\s\`]${code}[\\s\`]`));
  });
});

describe.each(documents)("%s", (path) => {
  it("links to files and headings that exist", () => {
    for (const [, link = ""] of withoutCode(path).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [target = "", anchor] = link.split("#");
      const file = target === "" ? path : relative(root, resolve(root, dirname(path), target));
      expect(existsSync(join(root, file)), `${link} in ${path}`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(file), `${link} in ${path}`).toContain(anchor);
    }
  });

  it.skipIf(path === "CHANGELOG.md")("names source files that exist", () => {
    for (const [, name = ""] of withoutBlocks(path).matchAll(/`((?:src|test)\/[^`\s*<>]+)`/g)) {
      expect(existsSync(join(root, name)), `${name} in ${path}`).toBe(true);
    }
  });

  it("refers to sections that exist", () => {
    for (const [, number] of withoutBlocks(path).matchAll(/§(?:\d+–)?(\d+)/g)) {
      expect(numbers, `§${number} in ${path}`).toContain(Number(number));
    }
  });
});

describe("the map in CONTRIBUTING.md", () => {
  const rows = [...read("CONTRIBUTING.md").matchAll(/^\| `(\w+)\/` \| .+? \| (.*?) \|/gm)];

  it("has a row for every room", () => {
    const folders = readdirSync(join(root, "src"), { withFileTypes: true });
    const named = folders.filter((one) => one.isDirectory()).map(({ name }) => name);
    expect(rows.map(([, room]) => room).toSorted()).toEqual(named.toSorted());
  });

  it.each(rows.map(([, room, files]) => [room, files]))(
    "names files of %s that exist",
    (room, files) => {
      const names = [...(files ?? "").matchAll(/`(.+?)`/g)].map(([, name]) => name ?? "");
      expect(names.length).toBeGreaterThan(0);
      for (const name of names)
        expect(existsSync(join(root, "src", room ?? "", name)), name).toBe(true);
    },
  );
});

describe("comments", () => {
  it("refer to sections of the contract that exist", () => {
    const files = ["src", "test", "scripts", "bench"].flatMap((folder) =>
      filesBelow(folder, /\.(ts|mjs|cjs)$/),
    );
    const references = files.flatMap((file) =>
      [...read(file).matchAll(/SPEC(?:\.md)? §(\d+)/g)].map(([, number]) => ({
        file,
        number: Number(number),
      })),
    );
    expect(references.length).toBeGreaterThan(3);
    for (const { file, number } of references) expect(numbers, file).toContain(number);
  });
});
