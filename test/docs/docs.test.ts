import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { CATALOG } from "../../src/app/catalog.ts";
import { parseConfig } from "../../src/app/config.ts";
import { findCommand, firstWords } from "../../src/operation/catalog.ts";
import { parseFlags } from "../../src/operation/flags.ts";
import { mermaid } from "../../src/queue/states.ts";
import { wardenSection } from "../../src/warden/config.ts";
import { DANCE, DANCE_STATES } from "../../src/warden/dance.ts";
import { newFolder } from "../support/folders.ts";

const root = join(import.meta.dirname, "../..");
const dist = process.env.VIV_DIST ?? join(root, "dist");
const guides = readdirSync(join(root, "docs/guide")).map((name) => `docs/guide/${name}`);
const guide = guides.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
const readme = readFileSync(join(root, "README.md"), "utf8");

function blocks(text: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

/** Times and places differ from run to run; everything else must be as printed in the guide. */
function masked(text: string): string {
  return text
    .replace(
      /\S*\/(audit|night|pit|crew\.org|board\.org|\.crew|\.viv\/fleet|app\/viv\.toml|app(?= merge))\b/g,
      "PATH/$1",
    )
    .replace(/\bw-[0-9a-z]+-[0-9a-z]+\b/g, "WARRANT")
    .replace(/\bpid \d+/g, "pid PID")
    .replace(/\b([0-9a-f]{7}|[0-9a-f]{10})\b/g, "COMMIT")
    .replace(/\d{4}-\d{2}-\d{2} \d\d:\d\d/g, "TIME")
    .replace(/\b\d+(\.\d)? ?(ms|s|m)\b/g, "TIME")
    .replace(/(TIME ago|in TIME|last run|next tick) +/g, "$1 ")
    .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z|\b\d\d:\d\d:\d\d\b/g, "TIME")
    .trim();
}

/** The picture of the dance's states, made from their table. */
function danceMermaid(): string {
  const lines = DANCE_STATES.flatMap((from) =>
    Object.entries(DANCE[from]).map(([event, to]) => `  ${from} --> ${to}: ${event}`),
  );
  return ["stateDiagram-v2", ...lines].join("\n");
}

describe("the guides", () => {
  it.each([
    ["quick start", "viv init --template fleet", "made viv.toml"],
    ["tour", "viv init ./audit", "enqueued t.web"],
  ])("shows what the %s really prints", (_, command, line) => {
    const all = blocks(guide, "sh");
    const [begin = ""] = all.find((block) => block.includes("VIV="))?.split("\n") ?? [];
    const block = all.find((one) => one.includes(command))?.replace(begin, "");
    const printed = blocks(guide, "text").find((one) => one.includes(line));
    const viv = begin.replace('"$PWD/dist/viv.cjs"', JSON.stringify(join(dist, "viv.cjs")));
    const script = `${viv}\n${block}`;
    const env = { ...process.env, VIV_RUN: "", TMPDIR: newFolder(), USER: "tester" };
    const output = execFileSync("bash", ["-euc", script], { encoding: "utf8", env });
    expect(masked(output)).toBe(masked(printed ?? ""));
  });

  it("shows what a worker really prints", () => {
    const block = blocks(guide, "sh").find((one) => one.includes("viv work --worker w1 --drain\n"));
    const printed = blocks(guide, "text").find((one) => one.includes("w1 waits for work"));
    const viv = `viv() { ${process.execPath} ${join(dist, "viv.cjs")} "$@"; }; cd "$(mktemp -d)"`;
    const env = { ...process.env, VIV_RUN: "", TMPDIR: newFolder() };
    const script = `${viv}\n${block}`;
    const output = execFileSync("bash", ["-euc", script], { encoding: "utf8", env });
    expect(masked(output)).toBe(masked(printed ?? ""));
  });

  it("shows what a report really prints", () => {
    const block = blocks(guide, "sh").find((one) => one.includes("viv report\n"));
    const printed = blocks(guide, "text").find((one) => one.includes("Needs you"));
    const viv = `viv() { ${process.execPath} ${join(dist, "viv.cjs")} "$@"; }; cd "$(mktemp -d)"`;
    const env = { ...process.env, VIV_RUN: "", TMPDIR: newFolder(), VIV_STATE: newFolder() };
    const output = execFileSync("bash", ["-euc", `${viv}\n${block}`], { encoding: "utf8", env });
    // Which task was the slowest, when it was, and in which part of the period it was.
    const still = (text: string) =>
      masked(text)
        .replace(/^Slowest .*/m, "Slowest TASKS")
        .replace(/\d\d:\d\d–\d\d:\d\d/g, "TIME")
        .replace(/[·▁-█]{24}/g, "BAR");
    expect(still(output)).toBe(still(printed ?? ""));
  });

  it("shows what an agent really prints", () => {
    const block = blocks(guide, "sh").find((one) => one.includes("viv work --worker w2"));
    const printed = blocks(guide, "text").find((one) => one.includes("w2 waits for work"));
    const viv = `viv() { ${process.execPath} ${join(dist, "viv.cjs")} "$@"; }; cd "$(mktemp -d)"`;
    // Accounts are the machine's: this is a machine of its own.
    const env = { ...process.env, VIV_RUN: "", TMPDIR: newFolder(), VIV_STATE: newFolder() };
    const script = `${viv}\n${block}`;
    const output = execFileSync("bash", ["-euc", script], { encoding: "utf8", env });
    expect(masked(output)).toBe(masked(printed ?? ""));
  });

  it("shows what a pit really prints", () => {
    const block = blocks(guide, "sh").find((one) => one.includes("viv pit init ./pit"));
    const printed = blocks(guide, "text").find((one) => one.includes("snake-2 waits for work"));
    const viv = `viv() { ${process.execPath} ${join(dist, "viv.cjs")} "$@"; }; cd "$(mktemp -d)"`;
    const env = { ...process.env, VIV_RUN: "", TMPDIR: newFolder() };
    const output = execFileSync("bash", ["-euc", `${viv}\n${block}`], { encoding: "utf8", env });
    expect(masked(output)).toBe(masked(printed ?? ""));
  });

  it.each([
    ["crew", "viv crew up crew.org", "research: claim hello-world"],
    ["warden", "viv warden up --timeouts", "for agent-2"],
  ])("shows what a pasted block with a %s really prints", (part, command, line) => {
    const crew = blocks(guide, "sh").find((one) => one.includes("viv crew up crew.org")) ?? "";
    const block = blocks(guide, "sh").find((one) => one.includes(command)) ?? "";
    const printed = blocks(guide, "text").find((one) => one.includes(line));
    // As after the tour: viv is a function, and the shell is in a new folder.
    const folder = newFolder();
    const tour = [`VIV=${join(root, "dist/viv.cjs")}`, 'viv() { node "$VIV" "$@"; }'];
    const before = part === "crew" ? [] : crew.split("\n").slice(0, 2);
    // Whatever fails, nothing is left running.
    const end = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT";
    const script = [...tour, end, `cd ${folder}`, ...before, block].join("\n");
    const { TMUX: _, VIV_AGENT: __, VIV_BOARD: ___, ...env } = process.env;
    const who = { GIT_AUTHOR_NAME: "ida", GIT_AUTHOR_EMAIL: "ida@example.org" };
    try {
      const output = execFileSync("bash", ["-euc", script], {
        ...{ encoding: "utf8", timeout: 120_000 },
        env: { ...env, ...who, VIV_RUN: "", TMUX_TMPDIR: folder, USER: "tester" },
      });
      expect(masked(output)).toBe(masked(printed ?? ""));
    } finally {
      spawnSync("tmux", ["kill-server"], { env: { ...env, TMUX_TMPDIR: folder } });
    }
  });

  it("has a library example that works", () => {
    const example = blocks(guide, "ts")[0] ?? "";
    const library = pathToFileURL(join(dist, "main.js")).href;
    const folder = newFolder();
    const script = join(folder, "example.mjs");
    writeFileSync(script, example.replace('"vivarium"', JSON.stringify(library)));
    execFileSync(process.execPath, [script], { cwd: folder });
    expect(readdirSync(join(folder, "audit/done"))).toEqual(["t.1.json"]);
  });

  it("has a [warden] that is read", async () => {
    const [text = ""] = blocks(guide, "toml").filter((block) => block.includes("[warden]"));
    const warden = (await parseConfig(text, "/viv.toml")).section(wardenSection);
    expect(Object.keys(warden?.rules ?? {})).toHaveLength(3);
  });

  it("names only commands and flags that exist", async () => {
    const shown = [...blocks(readme, "sh"), ...blocks(guide, "sh")];
    const lines = shown.flatMap((block) => block.replace(/ #.*$/gm, "").split("\n"));
    const calls = lines.flatMap((line) => [...line.matchAll(/\bviv ([a-z]+)([^#&|;<>)]*)/g)]);
    expect(calls.length).toBeGreaterThan(20);
    for (const [, name = "", rest = ""] of calls) {
      expect(firstWords(CATALOG)).toContain(name);
      const words = [...rest.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
        (m) => m[1] ?? m[2] ?? m[3] ?? "",
      );
      const found = findCommand(CATALOG, [name, ...words]);
      if (!found) continue;
      const command = await found.entry.load();
      await expect(
        parseFlags(name, command, found.rest),
        `viv ${name}${rest}`,
      ).resolves.toBeDefined();
    }
  });
});

it("README.md: the first task, as pasted, is proven and lands", () => {
  const [, after = ""] = readme.split("<!-- first task: test/docs runs this -->");
  const [block = ""] = blocks(after, "sh");
  const script = block.replace('"$PWD/dist/viv.cjs"', JSON.stringify(join(dist, "viv.cjs")));
  expect(script).not.toBe(block);
  // Whatever fails, nothing is left running; as after the block, that is no error.
  const end = "trap 'viv down --now >/dev/null 2>&1 || true' EXIT";
  const folder = newFolder();
  const env = { ...process.env, VIV_RUN: "", TMPDIR: folder, VIV_STATE: newFolder() };
  const output = execFileSync("bash", ["-euc", `${end}\n${script}`], {
    ...{ encoding: "utf8", timeout: 120_000, env },
  });
  expect(output).toMatch(/up +runs in the background, pid \d+, http:\/\/127\.0\.0\.1:\d+$/m);
  expect(output).toContain("enqueued 1 (1 pending, 0 waiting)");
  expect(output).toContain("NOTES.md  +1  -0");
  expect(output).toMatch(/^landed {2}t\.1 {2}in viv\/fleet/m);
  expect(output).toContain("1 done, 1 proven");
  expect(output).toMatch(/^stopped \(pid \d+ is gone\)$/m);
});

it("README.md fits on a few screens", () => {
  expect(readme.split(/\s+/).length).toBeLessThan(1_200);
});

/** Not of a program or a file that is written there, and not in quotes. */
function commentsIn(block: string): string[] {
  const bare = block.replace(/<<'?(\w+)'?[\s\S]*?^\1$/gm, "").replace(/"[^"]*"|'[^']*'/g, "");
  return [...bare.matchAll(/^.*(?:^|\s)#.*$/gm)].map(([line]) => line);
}

const examples = readdirSync(join(root, "examples")).filter((name) => name !== "bin");

it.each([
  ...["README.md", "CONTRIBUTING.md", "bench/README.md", "docs/http.md"],
  ...guides,
  ...examples.map((name) => `examples/${name}/README.md`),
])("%s can be pasted into zsh, which takes comments for arguments", (path) => {
  const all = blocks(readFileSync(join(root, path), "utf8"), "sh");
  expect(all.flatMap(commentsIn)).toEqual([]);
});

/** Commands with arguments in the running text, between single backticks. */
function inlineCalls(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, "");
  return [...prose.matchAll(/`viv ([a-z][^`\n]* [^`\n]+)`/g)].map((match) => match[1] ?? "");
}

const specs = readdirSync(join(root, "docs/spec"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/spec/${name}`);

it.each(["README.md", ...guides, ...specs])(
  "commands in the text of %s work as pasted",
  async (path) => {
    for (const written of inlineCalls(readFileSync(join(root, path), "utf8"))) {
      if (written.includes("…")) continue; // a list of commands
      const line = written.replace(/ N\b/g, " 3");
      const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
        (m) => m[1] ?? m[2] ?? m[3] ?? "",
      );
      const found = findCommand(CATALOG, words);
      if (!found || found.rest.length === 0) continue;
      const command = await found.entry.load();
      const given = (await parseFlags(found.entry.name, command, found.rest)).values;
      const { run: _, json: __, help: ___, ...values } = given;
      const extras = Object.keys(command.flags ?? {});
      const input = Object.fromEntries(Object.entries(values).filter(([k]) => !extras.includes(k)));
      const needed = { type: "x", worker: "x", ...input };
      const keys = Object.keys(command.op.input.shape);
      const whole = Object.fromEntries(Object.entries(needed).filter(([k]) => keys.includes(k)));
      expect(command.op.input.safeParse(whole).error, `viv ${line}`).toBeUndefined();
    }
  },
);

describe("the picture of the state machine", () => {
  it.each([
    ["docs/guide/tour.md", [mermaid()]],
    ["docs/spec/queue.md", [mermaid()]],
    ["docs/spec/warden.md", [danceMermaid()]],
  ])("in %s is the one the table makes", (path, pictures) => {
    const text = readFileSync(join(root, path), "utf8");
    expect(blocks(text, "mermaid")).toEqual(pictures.map((picture) => `${picture}\n`));
  });
});
