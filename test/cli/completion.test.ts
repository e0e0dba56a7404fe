import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { CATALOG } from "../../src/app/catalog.ts";
import { firstWords } from "../../src/operation/catalog.ts";
import { flagsOf, GLOBAL_FLAGS } from "../../src/operation/flags.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { cli, ok, quoted, shell } from "./support.ts";

/** What TAB offers. bash is asked itself; zsh and fish where they are installed. */

const installed = (name: string) =>
  ["/bin", "/usr/bin", "/usr/local/bin"].some((folder) => existsSync(join(folder, name)));

describe("bash", () => {
  /** What a real bash offers for each line; the last word is the one under the cursor. */
  function offers(lines: string[], cwd: string): string[][] {
    const { status, stdout, stderr } = shell(
      `eval "$(viv completion bash)"
       ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _viv; echo "\${COMPREPLY[*]-}"; }
       ${lines.map((line) => `ask ${line}`).join("\n")}`,
      { cwd },
    );
    expect(stderr).toBe("");
    expect(status).toBe(0);
    return stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split(" ").filter((word) => word !== ""));
  }

  it("is a script that bash can read", async () => {
    const script = await ok(["completion", "bash"]);
    expect(shell(`bash -n <(printf %s ${quoted(script)})`)).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
  });

  it("offers commands, flags, choices, ids and files", async () => {
    const folder = newFolder();
    const around = { cwd: folder };
    await ok(["init", "run"], around);
    for (const id of ["t.web", "t.api", "other"])
      await ok(["enqueue", "--type", "job", "--id", id], around);
    const [all, en, flags, runFlag, priority, high, state, ids, tIds, noIds, files, unknown] =
      offers(
        [
          "viv ''",
          "viv enq",
          "viv enqueue --",
          "viv ls --r",
          "viv enqueue --priority ''",
          "viv enqueue --type x --priority hi",
          "viv ls --state re",
          "viv show ''",
          "viv cancel other t",
          "viv claim ''",
          "viv ls --run r",
          "viv frobnicate ''",
        ],
        folder,
      );
    expect(all?.sort()).toEqual(firstWords(CATALOG).sort());
    expect(en).toEqual(["enqueue"]);
    const enqueue = CATALOG.commands.find(({ name }) => name === "enqueue");
    const command = await enqueue?.load();
    if (!command) throw new Error("no enqueue");
    const expected = [...(await flagsOf(command)), ...GLOBAL_FLAGS].map(({ name }) => `--${name}`);
    expect(flags?.sort()).toEqual(expected.sort());
    expect(runFlag).toEqual(["--run"]);
    expect(priority).toEqual(["high", "normal", "low"]);
    expect(high).toEqual(["high"]);
    expect(state).toEqual(["review"]);
    expect(ids?.filter((word) => !word.startsWith("--")).sort()).toEqual([
      "other",
      "t.api",
      "t.web",
    ]);
    expect(tIds?.sort()).toEqual(["t.api", "t.web"]);
    expect(noIds?.every((word) => word.startsWith("--"))).toBe(true);
    expect(files).toEqual(["run"]);
    expect(unknown).toEqual([]);
  });

  it("knows commands of two words", () => {
    const [second, flags, choice] = offers(
      ["viv pit ''", "viv pit sweep --k", "viv pit toss . x --priority lo"],
      newFolder(),
    );
    expect(second?.sort()).toEqual(["init", "status", "sweep", "toss"]);
    expect(flags).toEqual(["--keep-logs"]);
    expect(choice).toEqual(["low"]);
  });

  it("knows what a flag means to which command", () => {
    const [by, who] = offers(["viv costs --group-by mo", "viv approve --by mo"], newFolder());
    expect(by).toEqual(["model"]);
    expect(who).toEqual([]);
  });

  it("knows commands of three words, help and completion", () => {
    const [dog, pool, al, flags, warrants, help, shells] = offers(
      [
        "viv dog ''",
        "viv dog pool ''",
        "viv dog pool al",
        "viv dog pool allocate --st",
        "viv warrant show ''",
        "viv help dem",
        "viv completion ''",
      ],
      newFolder(),
    );
    expect(dog?.sort()).toEqual(["dances", "pool", "status", "warrants"]);
    expect(pool?.sort()).toEqual(["allocate", "release", "status"]);
    expect(al).toEqual(["allocate"]);
    expect(flags).toEqual(["--state-dir"]);
    expect(warrants?.every((word) => word.startsWith("--"))).toBe(true);
    expect(help).toEqual(["demo"]);
    expect(shells).toEqual(["bash", "zsh", "fish"]);
  });

  it("stays silent where there is no run", async () => {
    const folder = newFolder();
    const [ids] = offers(["viv show t"], folder);
    expect(ids).toEqual([]);
    expect(await cli(["completion", "ids"], { cwd: folder })).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
  });
});

describe.each(["zsh", "fish"] as const)("%s", (name) => {
  let script: string;
  beforeAll(async () => {
    script = await ok(["completion", name]);
  });

  it("names every command and flag", async () => {
    for (const { name: command, load } of CATALOG.commands) {
      for (const word of command.split(" ")) expect(script).toMatch(new RegExp(`\\b${word}\\b`));
      for (const flag of await flagsOf(await load()))
        expect(script).toContain(name === "zsh" ? `'--${flag.name}[` : ` -l ${flag.name} `);
    }
  });

  it("has balanced quotes", () => {
    for (const line of script.split("\n"))
      expect((line.match(/'/g) ?? []).length % 2, line).toBe(0);
  });

  const here = installed(name);
  if (!here) console.log(`${name} is not installed: its completion is not run`);
  it.skipIf(!here)("is a script that the shell can read", () => {
    expect(shell(`printf %s ${quoted(script)} | ${name} -n`)).toMatchObject({
      status: 0,
      stderr: "",
    });
  });
});

/** Lines, with the words that each shell must offer at their ends. */
const LINES: [line: string[], offered: string[]][] = [
  [["pi"], ["pit"]],
  [
    ["dog", ""],
    ["dances", "pool", "status", "warrants"],
  ],
  [
    ["dog", "pool", ""],
    ["allocate", "release", "status"],
  ],
  [["dog", "pool", "al"], ["allocate"]],
  [
    ["pit", "s"],
    ["status", "sweep"],
  ],
  [
    ["completion", ""],
    ["bash", "fish", "zsh"],
  ],
  [["help", "dem"], ["demo"]],
  [["dog", "pool", "allocate", "--st"], ["--state-dir"]],
  // Not those of `viv status`.
  [["pit", "status", "--ne"], []],
  [
    ["status", "--ne"],
    ["--next-step", "--next-task-id"],
  ],
];

/** What a shell says to each question, which it is asked in one process. */
function answers(start: string, script: string, questions: readonly string[]): string[][] {
  const asked = questions.flatMap((question) => [question, "echo ="]).join("\n");
  const { stdout, stderr } = shell(`${start} -c ${quoted(`${script}\n${asked}`)}`);
  expect(stderr).toBe("");
  return stdout
    .split("=\n")
    .slice(0, -1)
    .map((said) => said.split("\n").filter((word) => word !== ""));
}

it.skipIf(!installed("fish"))("fish offers the words that come next", async () => {
  const script = await ok(["completion", "fish"]);
  const questions = LINES.map(([words]) => `complete -C ${quoted(["viv", ...words].join(" "))}`);
  const said = answers("fish --no-config", script, questions).map((lines) =>
    lines.map((line) => line.split("\t")[0]).sort(),
  );
  expect(said).toEqual(LINES.map(([, offered]) => offered));
});

it.skipIf(!installed("zsh"))("zsh offers the words that come next", async () => {
  const script = await ok(["completion", "zsh"]);
  // The helpers of its completion system, as they are called: each prints what it was given.
  const helpers = `_describe() { print -l -- \${(P)2%%:*} }
_arguments() { local one; for one in "$@"; do print -- "\${one%%\\[*}"; done }`;
  const questions = LINES.map(([words]) => {
    const line = ["viv", ...words];
    return `words=(${line.map(quoted).join(" ")}); CURRENT=${line.length}; _viv`;
  });
  const said = answers("zsh -f", `${script}\n${helpers}`, questions).map((lines, i) =>
    lines.filter((word) => word.startsWith(LINES[i]?.[0].at(-1) ?? "")).sort(),
  );
  expect(said).toEqual(LINES.map(([, offered]) => offered));
});

it("the flags that the build made are those of the schemas", async () => {
  const made = JSON.parse(readFileSync(join(DIST, "flags.json"), "utf8"));
  const expected = await Promise.all(
    CATALOG.commands.map(async ({ name, load }) => [name, await flagsOf(await load())]),
  );
  expect(made).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(expected))));
});
