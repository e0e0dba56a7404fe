import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { forgeHost } from "../../../src/app/forge-host.ts";
import type { ForgeHost, ForgeName } from "../../../src/merge/forge/forge.ts";
import {
  type ForgeContext,
  type OpenOptions,
  openPullRequests,
} from "../../../src/merge/forge/open.ts";
import type { Landing } from "../../../src/merge/landing.ts";
import type { Store } from "../../../src/queue/store.ts";
import { commitWorkspace } from "../../../src/work/workspaces/commit.ts";
import { openWorkspace } from "../../../src/work/workspaces/open.ts";
import { newFolder } from "../folders.ts";
import { newRun } from "../new-run.ts";
import { commitAt, readState, writeState } from "./answers.mjs";
import { respond } from "./respond.mjs";

/** A forge that stands in for GitHub or GitLab, its bare repository, and a clone of that. */

export const REPO = { owner: "acme", name: "app" };
const HOSTS = { gh: "github.com", glab: "gitlab.com" };

interface Said {
  id: string | number;
  login: string;
  body: string;
}

interface PullState {
  number: number;
  branch: string;
  base: string;
  title: string;
  body: string;
  draft?: boolean;
  state: "open" | "closed" | "merged";
  sha?: string;
  commit?: string;
  fork?: number;
  conflicts?: boolean;
  checks: { name: string; status: string; conclusion: string | null }[];
  reviews: (Said & { state: string })[];
  threads: { path: string; line: number; resolved?: boolean; comments: Said[] }[];
  comments: Said[];
}

interface IssueState {
  number: number;
  title: string;
  body: string;
  login: string;
  labels: string[];
  labelledBy?: string;
  isPull?: boolean;
  comments: { body: string }[];
}

interface ForgeState {
  bare: string;
  owner: string;
  name: string;
  last: number;
  pulls: PullState[];
  issues: IssueState[];
  people: Record<string, { github?: string; gitlab?: number }>;
}

const dead = () => {
  throw new Error("killed");
};

type Day = { on: string; kind: string; times?: number; skip?: number; until?: number };

export interface StandIn {
  program: ForgeName;
  folder: string;
  bare: string;
  repository: string;
  env: Record<string, string>;
  /** The stand-in answers in this process. */
  host: ForgeHost;
  /** It is a program in PATH, as for users. */
  programs: ForgeHost;
  state(): ForgeState;
  change(act: (state: ForgeState) => void): void;
  /** What goes wrong next. */
  days(...days: Day[]): void;
  calls(): [program: string, method: string, path: string][];
  /** Merges request `number` as the forge's button does. Returns the commit. */
  merge(number: number): string;
  commitOf(branch: string): string | null;
}

export function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  return execFileSync("git", ["-C", folder, ...identity, ...args], { encoding: "utf8" }).trim();
}

let made: string | undefined;

/** A bare repository and another with the same commit: made once, then copied. */
function template(): string {
  if (made !== undefined) return made;
  const root = mkdtempSync(join(tmpdir(), "viv-test-forge-"));
  process.once("exit", () => rmSync(root, { recursive: true, force: true }));
  const repository = join(root, "app");
  execFileSync("git", ["init", "-q", "--bare", "-b", "main", join(root, "forge/app.git")]);
  execFileSync("git", ["init", "-q", "-b", "main", repository]);
  writeFileSync(join(repository, "a.txt"), "one\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "first");
  git(repository, "push", "-q", join(root, "forge/app.git"), "main");
  made = root;
  return root;
}

export function newForge(program: ForgeName = "gh", root = newFolder()): StandIn {
  const folder = join(root, "forge");
  const bare = join(folder, "app.git");
  const repository = join(root, "app");
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  cpSync(template(), root, { recursive: true });
  const url = `https://${HOSTS[program]}/${REPO.owner}/${REPO.name}.git`;
  const remote = `[remote "origin"]\n\turl = ${url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
  const instead = `[url "${bare}"]\n\tinsteadOf = ${url}\n`;
  appendFileSync(join(repository, ".git/config"), remote + instead);
  const script = fileURLToPath(new URL("./program.mjs", import.meta.url));
  writeFileSync(
    join(bin, program),
    `#!/bin/sh\nexec '${process.execPath}' '${script}' ${program} '${folder}' "$@"\n`,
  );
  chmodSync(join(bin, program), 0o755);
  const people = { alice: { github: "MEMBER", gitlab: 30 }, mallory: {} };
  const start = { bare, ...REPO, last: 0, pulls: [], issues: [], people };
  writeState(folder, start);
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: root };
  const state = () => readState(folder) as ForgeState;
  const change = (act: (state: ForgeState) => void) => {
    const now = state();
    act(now);
    writeState(folder, now);
  };
  const commitOf = (branch: string) => commitAt({ bare }, branch) as string | null;
  return {
    ...{ program, folder, bare, repository, env, state, change, commitOf },
    host: {
      ...forgeHost(env),
      find: (name) => (name === program ? join(bin, name) : null),
      // As the program would, in this process: a start of node for each question takes too long.
      run: ({ argv: [, ...args], stdin }) => respond(program, folder, args, stdin, dead),
    },
    programs: forgeHost(env),
    days: (...days) => {
      const all = days.map((day) => ({ times: 1, ...day }));
      writeFileSync(join(folder, "days.json"), JSON.stringify(all));
    },
    calls: () => {
      const log = join(folder, "calls.log");
      const text = existsSync(log) ? readFileSync(log, "utf8") : "";
      return text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    },
    merge: (number) => {
      const pull = state().pulls.find((one) => one.number === number);
      const { branch = "", base = "" } = pull ?? {};
      const [head, tip] = [commitOf(branch) ?? "", commitOf(base) ?? ""];
      const tree = git(bare, "merge-tree", "--write-tree", tip, head);
      const commit = git(bare, "commit-tree", tree, "-p", tip, "-p", head, "-m", "merge");
      git(bare, "update-ref", `refs/heads/${base}`, commit, tip);
      change(({ pulls }) => {
        const one = pulls.find((each) => each.number === number);
        Object.assign(one ?? {}, { state: "merged", commit, sha: head });
      });
      return commit;
    },
  };
}

/** A run with a done task for each id, whose branch has a commit with a file of its name. */
export async function runWith(forge: StandIn, ...ids: string[]) {
  const { path, store } = await newRun(join(forge.folder, ".."));
  for (const id of ids) await doneTask(store, forge, id);
  return { path, store };
}

export async function doneTask(
  store: Store,
  { repository }: StandIn,
  id: string,
  payload: Record<string, unknown> = { title: `Write ${id}` },
): Promise<void> {
  await store.enqueue({ id, type: "write", payload, done_when: "true" });
  await store.claim({ worker: "w", max: 1 });
  await commitFile(store, repository, id, `${id}.txt`, `${id}\n`);
  await store.complete({ id, worker: "w" });
}

export async function commitFile(
  store: Store,
  repository: string,
  id: string,
  file: string,
  text: string,
): Promise<void> {
  const at = {
    kind: "worktree" as const,
    root: store.workspaces,
    run: store.runId,
    id,
    repository,
  };
  const { path } = await openWorkspace(at);
  writeFileSync(join(path, file), text);
  await commitWorkspace(path, `write: ${id}`);
}

/** Of one task; its landing as it is on disk. */
export async function openPullRequest(
  context: ForgeContext,
  id: string,
  options: OpenOptions = {},
): Promise<Landing> {
  const landings: Landing[] = [];
  const tell = (landing: Landing) => void landings.push(landing);
  await openPullRequests(context, [id], { ...options, tell });
  return landings[0] as Landing;
}
