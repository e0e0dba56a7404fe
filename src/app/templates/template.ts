import type { TestCommand } from "./test-command.ts";

/** What a template is made for: the folder, and what is installed. */
export interface Found {
  /** Agents that are installed, the first is used; `login`: whether they seem to be logged in. */
  agents: readonly { name: AgentName; login: boolean }[];
  /** The agent that was chosen; null: a script. */
  agent: AgentName | null;
  test: TestCommand | null;
  /** What a fresh checkout needs before it can be tested: installed packages. */
  setup: string | null;
  /** A variable that keeps programs from leaving files that git would commit. */
  env: string | null;
  /**
   * How the folder stands in git: `top` of a repository with commits, `empty`: without, `below` its
   * top, `refused`: git does not work there.
   */
  git: "top" | "empty" | "below" | "none" | "refused";
  /** The schema's address for editors. */
  schema: string;
  /** Our program, if what is started here would not find it as `viv`; else null. */
  unknownViv: string | null;
}

export const AGENT_NAMES = ["claude", "codex", "gemini", "opencode"] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

export interface TemplateFile {
  path: string;
  text: string;
  isProgram?: boolean;
}

/** Files that work as they are, and the commands to type next. */
export interface Plan {
  files: readonly TemplateFile[];
  /** Folders that git ignores from now on, in this clone. */
  ignore: readonly string[];
  next: readonly string[];
}

/** A plan that is written down, with the name of its template. */
export type Begun = Plan & { template: string };

export type Template = (found: Found) => Plan;

/** Lines of a viv.toml: a key, its value and what it is for; null: left out. */
export type Line = readonly [setting: string, comment?: string] | string | null;

/** The comments stand in one column, as far as the settings allow. */
export function toml(found: Found, lines: readonly Line[]): string {
  const text = lines.flatMap((line) => {
    if (line === null) return [];
    if (typeof line === "string") return [line];
    const [setting, comment] = line;
    return [comment === undefined ? setting : `${setting.padEnd(34)} # ${comment}`];
  });
  return `#:schema ${found.schema}\n${text.join("\n")}\n`;
}

/** The program that does the work where no agent is chosen. */
export function script({ agent }: Found, path: string, text: string): TemplateFile[] {
  return agent === null ? [{ path, isProgram: true, text: `#!/bin/sh\n${text}` }] : [];
}

/** The first lines of a route: an agent with its prompt, or a script. */
export function worker(
  { agent, agents }: Found,
  { prompt, script }: { prompt: string; script: string },
): Line[] {
  if (agent === null) {
    return [
      [`handler = "./${script}"`, "the task's JSON is on stdin, exit 0 is success"],
      [
        `# engine = "claude"`,
        "instead of handler: claude, codex, gemini or opencode, once installed",
      ],
      [`# prompt = "${prompt}"`, "goes with the engine"],
    ];
  }
  const others = agents.map(({ name }) => name).filter((name) => name !== agent);
  const also = others.length > 0 ? `; installed too: ${others.join(", ")}` : "";
  return [
    [`engine = "${agent}"`, `see: viv engines${also}`],
    [`prompt = "${prompt}"`, "a template over the task"],
    [`# budget = { usd = 2.00 }`, "of an attempt; then its process tree is ended"],
  ];
}

/** These lines, or none. */
export function when(holds: boolean, ...lines: Line[]): Line[] {
  return holds ? lines : [];
}

/** The proof of a change in a worktree. */
export function proof({ test }: Found): Line {
  if (test !== null)
    return [
      `done_when = ${JSON.stringify(test.command)}`,
      test.from === null ? "the proof" : `the proof; found in ${test.from}`,
    ];
  const changed =
    'test -n "$(git status --porcelain; git log --oneline HEAD --not --exclude=viv/* --branches)"';
  return [`done_when = '${changed}'`, "only proves a change: put your tests here"];
}

/** What a fresh worktree needs. */
export function setUp({ setup, env }: Found): Line[] {
  return [
    ...when(setup !== null, [
      `setup = ${JSON.stringify(setup)}`,
      "in each new worktree, before the handler",
    ]),
    ...when(env !== null, [
      `env = ${JSON.stringify([env])}`,
      "git does not ignore __pycache__: it would be committed",
    ]),
  ];
}

export function jsonl(...tasks: readonly Record<string, unknown>[]): string {
  return `${tasks.map((task) => JSON.stringify(task)).join("\n")}\n`;
}

/** A field of the task on stdin, for a script without tools. */
export const FIELD = String.raw`field() { # a text of the task's JSON on stdin, without escapes
  printf '%s' "$task" | tr '\n' ' ' | sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"
}
task=$(cat)`;
