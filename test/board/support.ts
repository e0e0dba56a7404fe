import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** The board of the newsroom, as its desk leaves it. */
export const NEWSROOM = `#+TITLE: the newsroom
#+TODO: ASSIGNED RESEARCH WRITING EDIT | PUBLISHED KILLED

* Stories
*** ASSIGNED hello world — one story through the whole pipeline
A lead.
*** WRITING second thoughts
:PROPERTIES:
:CUSTOM_ID: second
:END:
*** EDIT third time lucky — the charm
:PROPERTIES:
:AGENT: hale
:END:
*** PUBLISHED old news
`;

export class Repository {
  readonly top: string;
  readonly board: string;

  constructor(text: string | null = NEWSROOM, path = "board.org") {
    this.top = realpathSync(mkdtempSync(join(tmpdir(), "viv-board-")));
    onTestFinished(() => rmSync(this.top, { recursive: true, force: true }));
    this.board = join(this.top, path);
    this.git("init", "-q", "-b", "main");
    this.git("config", "user.name", "ida");
    this.git("config", "user.email", "ida@example.org");
    if (text === null) return;
    mkdirSync(dirname(this.board), { recursive: true });
    this.write(text);
    this.commit("desk: the board");
  }

  git(...args: string[]): string {
    const { stdout, stderr, status } = this.ask(...args);
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.trimEnd();
  }

  ask(...args: string[]) {
    return spawnSync("git", args, { cwd: this.top, encoding: "utf8", env: gitEnv() });
  }

  write(text: string | Buffer): void {
    writeFileSync(this.board, text);
  }

  read(): string {
    return readFileSync(this.board, "utf8");
  }

  /** As an agent does it by hand. */
  commit(subject: string, author?: string): void {
    this.git("add", "-A");
    const by = author === undefined ? [] : [`--author=${author} <${author}@example.org>`];
    this.git("commit", "-q", "-m", subject, ...by);
  }

  /** Edits the board and commits that, as an agent does it by hand. */
  edit(from: string | RegExp, to: string, subject: string, author?: string): void {
    const text = this.read();
    if (text.replace(from, to) === text) throw new Error(`nothing to replace: ${from}`);
    this.write(text.replace(from, to));
    this.commit(subject, author);
  }

  subjects(): string[] {
    return this.git("log", "--format=%s").split("\n");
  }

  get head(): string {
    return this.git("rev-parse", "HEAD");
  }

  /** All that a refused command must leave alone. */
  state(): string {
    const all = this.ask("status", "--porcelain=v2", "--branch").stdout;
    const refs = this.ask("for-each-ref").stdout;
    const index = this.ask("ls-files", "-s").stdout;
    return [all, refs, index].join("\n");
  }
}

export function gitEnv(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return Object.fromEntries(kept.filter((one): one is [string, string] => one[1] !== undefined));
}
