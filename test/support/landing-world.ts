import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Landing } from "../../src/merge/landing.ts";
import type { Claim, Store } from "../../src/queue/store.ts";
import { commitWorkspace } from "../../src/work/workspaces/commit.ts";
import { type OpenWorkspace, openWorkspace } from "../../src/work/workspaces/open.ts";
import { newFolder } from "./folders.ts";

/** A run, a real repository, and tasks whose work is on branches of it. */

export function userGit(cwd: string, ...args: string[]): string {
  const who = { NAME: "User", EMAIL: "user@example.org" };
  const env: Record<string, string | undefined> = { PATH: process.env.PATH, HOME: "/" };
  for (const [key, value] of Object.entries(who)) {
    env[`GIT_AUTHOR_${key}`] = value;
    env[`GIT_COMMITTER_${key}`] = value;
  }
  Object.assign(env, { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" });
  return execFileSync("git", args, { cwd, env, encoding: "utf8", stdio: "pipe" }).trim();
}

export function write(path: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** With `file.txt` of three lines, on main. */
export function newRepository(path: string): string {
  mkdirSync(path, { recursive: true });
  userGit(path, "init", "--quiet", "--initial-branch=main");
  write(join(path, "file.txt"), "one\ntwo\nthree\n");
  write(join(path, ".gitignore"), "ignored\n");
  commitAll(path, "first");
  return path;
}

export function commitAll(path: string, message: string): string {
  userGit(path, "add", "-A");
  userGit(path, "commit", "--quiet", "-m", message);
  return userGit(path, "rev-parse", "HEAD");
}

/** git without the user's settings, until the test has finished. */
export function withoutSettings(): void {
  vi.stubEnv("GIT_CONFIG_GLOBAL", "/dev/null");
  vi.stubEnv("GIT_CONFIG_NOSYSTEM", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** A script in the place of git; it finds the real one in $git. Returns what takes it away again. */
export function useGit(folder: string, script: string): () => void {
  const path = process.env.PATH ?? "";
  const own = join(folder, "bin");
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  write(join(own, "git"), `#!/bin/sh\ngit='${real}'\n${script}\n`, 0o755);
  vi.stubEnv("PATH", `${own}:${path}`);
  return () => void vi.stubEnv("PATH", path);
}

export class LandingWorld {
  readonly folder: string;
  readonly repository: string;
  readonly path: string;
  readonly store: Store;

  static async make(layout?: "pit"): Promise<LandingWorld> {
    withoutSettings();
    const folder = newFolder();
    const path = join(folder, "run");
    const store = await openRun(path, { create: true, durability: "fast", layout });
    return new LandingWorld(folder, path, store);
  }

  private constructor(folder: string, path: string, store: Store) {
    this.folder = folder;
    this.path = path;
    this.store = store;
    this.repository = newRepository(join(folder, "repository"));
  }

  request(id: string): Parameters<typeof openWorkspace>[0] {
    const { workspaces: root, runId: run } = this.store;
    return { kind: "worktree", root, run, id, repository: this.repository };
  }

  async open(id: string): Promise<OpenWorkspace> {
    return openWorkspace(this.request(id));
  }

  async claim(id: string): Promise<Claim> {
    const [claim] = await this.store.claim({ worker: "w" });
    if (claim?.id !== id) throw new Error(`${id} could not be claimed`);
    return claim;
  }

  /** Enqueues it, and does it: these files are its work. */
  async done(id: string, files: Record<string, string>, depends_on: string[] = []): Promise<void> {
    await this.store.enqueue({ id, type: "t", depends_on });
    await this.work(id, files);
  }

  /** One attempt at a task that is pending. */
  async work(id: string, files: Record<string, string>): Promise<void> {
    const { token } = await this.claim(id);
    const { path } = await this.open(id);
    for (const [name, text] of Object.entries(files)) write(join(path, name), text);
    await commitWorkspace(path, `t: ${id}`);
    await this.store.complete({ id, worker: "w", token });
  }

  /** Another commit on main, made in the user's checkout. */
  onMain(files: Record<string, string>, message = "on main"): string {
    for (const [name, text] of Object.entries(files)) write(join(this.repository, name), text);
    return commitAll(this.repository, message);
  }

  landing(id: string, more: Partial<Landing> = {}): Landing {
    const head = this.git("rev-parse", `viv/${id}@run`);
    return {
      task: id,
      state: "conflict",
      at: "2026-11-16T12:00:00.000Z",
      repository: this.repository,
      branch: `viv/${id}@run`,
      base: this.git("merge-base", "main", head),
      head,
      target: "main",
      strategy: "merge",
      reworks: 0,
      ...more,
    };
  }

  git(...args: string[]): string {
    return userGit(this.repository, ...args);
  }

  read(id: string, file = "file.txt"): string {
    return readFileSync(join(this.store.workspaces, id, file), "utf8");
  }

  remove(...names: string[]): void {
    rmSync(join(this.path, ...names), { recursive: true, force: true });
  }
}
