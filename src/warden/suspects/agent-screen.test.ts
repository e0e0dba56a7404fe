import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  AGENTS,
  agentLook,
  agentNamed,
  isBarePrompt,
  lineLook,
  ownRows,
  readRow,
  type Screen,
} from "./agent-screen.ts";

/** Screens of the real programs, as test/warden/screens/record.mjs has recorded them. */
const FOLDER = fileURLToPath(new URL("../../../test/warden/screens/", import.meta.url));

interface Recorded {
  name: string;
  screen: Screen;
  argv: string[][];
}

function recorded(program: string): Recorded[] {
  return readdirSync(join(FOLDER, program)).map((name) => {
    const file = JSON.parse(readFileSync(join(FOLDER, program, name), "utf8"));
    const { x, y, visible } = file.cursor;
    return {
      name: name.replace(/\.json$/, ""),
      screen: { rows: file.ansi, cursor: { x, y, isVisible: visible } },
      argv: file.foreground.map(({ argv }: { argv: string[] }) => argv),
    };
  });
}

const QUESTION = "Warden health check. Nonce: k7m2qp (say ALIVE k7m2qp on a line by itself)";
const flat = (text: string) => text.replace(/[^a-z0-9]/gi, "");

describe.each(AGENTS)("%s", (agent) => {
  const all = recorded(agent);
  const those = (states: RegExp) => all.filter(({ name }) => states.test(name));
  const inputOf = ({ screen }: Recorded) => agentLook(agent, screen).input;

  test("was recorded", () => {
    for (const state of ["idle", "typed", "pasted", "answered", "working", "queued", "dialog"]) {
      expect(those(new RegExp(`^${state}-`)).length, state).toBeGreaterThan(0);
    }
  });

  test.each(
    those(/^(idle|answered|working(-tool|-tick)?|queued(-tool|-tick)?|dialog-dismissed)-\d/),
  )("an empty box: $name", (one) => {
    expect(inputOf(one)).toMatchObject({ is: "box", text: "" });
  });

  test.each(those(/^typed-/))("half-typed text: $name", (one) => {
    expect(inputOf(one)).toMatchObject({ is: "box", text: "please fix the te" });
  });

  test.each(those(/^(working-)?pasted(-tool|-tick)?-\d/))("the question: $name", (one) => {
    const input = inputOf(one);
    expect(input.is === "box" && flat(input.text)).toBe(flat(QUESTION));
  });

  test.each(those(/dialog-(?!dismissed)|^trust|^(menu-)?model-|^fresh-2/))(
    "no input: $name",
    (one) => {
      expect(inputOf(one).is).not.toBe("box");
    },
  );

  test.each(those(/^(edit-)?dialog-(?!dismissed)/))("waits for a person: $name", (one) => {
    expect(inputOf(one)).toMatchObject({ is: "person", what: expect.stringMatching(/permission/) });
  });

  test.each(those(/^trust|^key-dialog|^model-dialog/))("waits for a choice: $name", (one) => {
    expect(inputOf(one).is).toBe("person");
  });

  test.each(those(/^menu-/))("a menu is no empty box: $name", (one) => {
    const input = inputOf(one);
    expect(input.is === "box" && input.text === "").toBe(false);
  });

  test.each(those(/^(working|queued)(-tool|-tick)?-\d/))("its turn goes on: $name", (one) => {
    expect(agentLook(agent, one.screen).isBusy).toBe(true);
  });

  test.each(those(/^(idle|answered|dialog)-\d/))("no turn goes on: $name", (one) => {
    expect(agentLook(agent, one.screen).isBusy).toBe(false);
  });

  test.each(those(/^answered-/))("its answer is among its own words: $name", (one) => {
    const { input } = agentLook(agent, one.screen);
    const rows = one.screen.rows.map((row) => readRow(row).text);
    const own = ownRows(agent, rows, input.is === "box" ? input.top : null).join("\n");
    expect(own).toMatch(/^\W*ALIVE k7m2qp(\s{3}.*)?$/m); // beside a panel
  });

  test.each(those(/^(idle|answered)-/))("is known by its name: $name", ({ argv }) => {
    expect(argv.map(agentNamed)).toContain(agent);
  });

  test.each(those(/^exited-/))("a shell's prompt is no box of its: $name", (one) => {
    expect(inputOf(one).is).not.toBe("box");
  });
});

const rowsOf = (screen: Screen, change: (row: string) => string): Screen => ({
  ...screen,
  rows: screen.rows.map(change),
});
const recordedAs = (program: string, name: string) =>
  recorded(program).find((one) => one.name === name)?.screen as Screen;

test.each(["queued-120", "queued-tool-120", "queued-40"])(
  "what claude says of a queued question is none of its words: %s",
  (name) => {
    const screen = recordedAs("claude", name);
    const { input } = agentLook("claude", screen);
    const rows = screen.rows.map((row) => readRow(row).text);
    const own = ownRows("claude", rows, input.is === "box" ? input.top : null).join("\n");
    expect(own).not.toMatch(/send now|ctrl\+/);
  },
);

test("opencode's shell mode is no box", () => {
  const screen = recordedAs("opencode", "answered-120");
  expect(agentLook("opencode", screen).input.is).toBe("box");
  const shell = rowsOf(screen, (row) => row.replace(/Build.*/u, "Shell"));
  expect(agentLook("opencode", shell).input.is).not.toBe("box");
});

test("a form of codex with the glyph of its box is none", () => {
  const screen = recordedAs("codex", "answered-120");
  expect(agentLook("codex", screen).input.is).toBe("box");
  const rows = [...screen.rows.slice(0, -1), "  enter submit · esc back"];
  const form = { ...screen, rows };
  expect(agentLook("codex", form).input.is).not.toBe("box");
});

test("gemini's turn goes on though its tool has been quiet for long", () => {
  const screen = recordedAs("gemini", "working-tool-120");
  const footer = " ! Shell awaiting input (Tab to focus)          ? for shortcuts";
  const quiet = rowsOf(screen, (row) => (/esc to cancel/.test(row) ? footer : row));
  expect(quiet.rows).toContain(footer);
  expect(agentLook("gemini", quiet).isBusy).toBe(true);
});

test("claude's turn goes on though its footer is cut", () => {
  const screen = recordedAs("claude", "working-120");
  const cut = rowsOf(screen, (row) => row.replace(/esc to interrupt/, "esc to…"));
  expect(agentLook("claude", cut).isBusy).toBe(true);
});

test.each([
  ["● Yes... ALIVE k7m2qp"],
  ["● Waited for the tests, ALIVE k7m2qp"],
  ["● Queued; ALIVE k7m2qp"],
  ["  press tab to see it, ALIVE k7m2qp"],
])("%s is no status row", (row) => {
  expect(ownRows("claude", [row], null)).toEqual([row]);
});

describe("programs that are no agents", () => {
  const all = Object.fromEntries(recorded("plain").map((one) => [one.name, one.screen]));
  const inputOf = (name: string) => lineLook(all[name] as Screen);

  test.each(["apt-80", "git-add-p-80", "password-80", "read-80"])(
    "%s waits for a person",
    (name) => {
      expect(inputOf(name)).toMatchObject({ is: "person" });
    },
  );

  test.each(["cat-80", "cat-after-80", "input-80", "input-after-80"])("%s may be asked", (name) => {
    const input = inputOf(name);
    expect(input.is === "line" && isBarePrompt(input.before)).toBe(true);
  });

  const screenOf = (...rows: string[]): Screen => ({
    rows,
    cursor: { x: rows.at(-1)?.length ?? 0, y: rows.length - 1, isVisible: true },
  });

  test.each([
    [["Delete everything?", ""]],
    [["Overwrite existing file? yes or no", ""]],
    [["Proceed? Enter = yes", "> "]],
    [["1. Delete", "2. Keep", "Enter your choice", ""]],
    [["Shall I push to main?", "agent> "]],
  ])("%j waits for a person", (rows) => {
    expect(lineLook(screenOf(...rows))).toMatchObject({ is: "person" });
  });

  test("a list without a choice is none", () => {
    const screen = screenOf("1. compiled", "2. linked", "ready", "agent> ");
    expect(lineLook(screen)).toMatchObject({ is: "line" });
  });

  test("half-typed text is no prompt", () => {
    const input = inputOf("bash-typed-80");
    expect(input.is === "line" && isBarePrompt(input.before)).toBe(false);
  });
});

test.each([
  [["node", "/usr/lib/node_modules/@openai/codex/bin/codex.js"], "codex"],
  [["/usr/bin/node", "--max-old-space-size=1", "/x/@google/gemini-cli/bundle/index.js"], "gemini"],
  [["/opt/bin/claude", "--resume"], "claude"],
  [["bash", "-c", "claude"], null],
  [["vim", "claude"], null],
  [["node", "agent.js", "claude"], null],
])("%j is %s", (argv, agent) => {
  expect(agentNamed(argv)).toBe(agent);
});
