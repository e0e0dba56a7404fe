import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openRun, workerHost } from "../../src/main.ts";
import { DEFAULT_MERGE, type MergeSettings } from "../../src/merge/config.ts";
import { type Landing, readLanding, writeLanding } from "../../src/merge/landing.ts";
import { mergeOnce } from "../../src/merge/queue.ts";
import type { SentBack } from "../../src/merge/send-back.ts";
import type { MergeContext, MergeEvent } from "../../src/merge/session.ts";
import { advance } from "../../src/merge/transitions.ts";
import { localMachine } from "../../src/platform/processes/machine.ts";
import type { LedgerLine } from "../../src/queue/ledger.ts";
import type { TaskSpec } from "../../src/queue/spec.ts";
import type { Store } from "../../src/queue/store.ts";
import type { ReadyRoute } from "../../src/work/attempt.ts";
import { commitWorkspace } from "../../src/work/workspaces/commit.ts";
import { openWorkspace } from "../../src/work/workspaces/open.ts";
import { newFolder } from "./folders.ts";

/** A repository and a run with done tasks that have branches in it: real git, real processes. */
export class MergeWorld {
  readonly home: string;
  readonly repo: string;
  readonly run: string;
  readonly events: MergeEvent[] = [];
  /** What was sent back, by a stand-in of send-back.ts that only writes the landing. */
  readonly sent: (SentBack & { id: string })[] = [];
  store!: Store;

  private constructor(home: string, name: string) {
    this.home = home;
    this.repo = join(home, "repo");
    this.run = join(home, name);
  }

  static async open(home = newFolder(), name = "night"): Promise<MergeWorld> {
    const world = new MergeWorld(home, name);
    world.store = await openRun(world.run, { create: true, durability: "fast" });
    return world;
  }

  /** With a repository of one commit on main. */
  static async begin(
    files: Record<string, string> = { "a.txt": "one\n" },
    home?: string,
  ): Promise<MergeWorld> {
    const world = await MergeWorld.open(home);
    execFileSync("git", ["init", "-q", "--template=", "-b", "main", world.repo]);
    world.git("config", "user.name", "t");
    world.git("config", "user.email", "t@example.org");
    world.write(world.repo, files);
    world.git("add", ".");
    world.git("commit", "-qm", "first");
    return world;
  }

  git(...args: string[]): string {
    const stdio = ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"];
    const env = { PATH: process.env.PATH ?? "", HOME: this.home, LC_ALL: "C" };
    const how = { encoding: "utf8" as const, env, stdio };
    return execFileSync("git", ["-C", this.repo, ...args], how).trimEnd();
  }

  write(folder: string, files: Record<string, string | null>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      if (text === null) rmSync(path);
      else writeFileSync(path, text);
    }
  }

  workspace(id: string): string {
    return join(this.store.workspaces, id);
  }

  /** A task that is done, with these changes on its branch. */
  async done(
    id: string,
    files: Record<string, string | null>,
    more: Partial<TaskSpec> & { base?: string } = {},
  ): Promise<void> {
    const { base, ...spec } = more;
    await this.store.enqueue({ id, type: "t", ...spec });
    await this.work(id, files, base);
  }

  /** A pending task is claimed, worked on and completed. */
  async work(id: string, files: Record<string, string | null>, base?: string): Promise<void> {
    const [claim] = await this.store.claim({ worker: "w" });
    if (claim?.id !== id) throw new Error(`claimed ${claim?.id} instead of ${id}`);
    const { workspaces: root, runId: run } = this.store;
    const request = { kind: "worktree" as const, root, run, id, repository: this.repo, base };
    const { path } = await openWorkspace(request);
    this.write(path, files);
    await commitWorkspace(path, `t: ${id}`);
    await this.store.complete({ id, worker: "w", token: claim.token });
  }

  async context(
    settings: Partial<MergeSettings> = {},
    more: Partial<MergeContext> & { route?: Partial<ReadyRoute> } = {},
  ): Promise<MergeContext> {
    const { route, ...rest } = more;
    const env = { PATH: process.env.PATH, HOME: this.home, VIV_STATE: join(this.home, "state") };
    const base: ReadyRoute = {
      ...{ type: "t", handler: ["true"], workspace: "worktree", sandbox: [], folder: this.home },
      env: { PATH: process.env.PATH ?? "", HOME: this.home },
      ...route,
    };
    return {
      store: this.store,
      host: await workerHost(this.run, env, this.home),
      machine: localMachine(),
      settings: { ...DEFAULT_MERGE, ...settings },
      routeFor: () => base,
      sendBack: async (_, landing, sent) => this.#sendBack(landing, sent),
      now: Date.now,
      signal: new AbortController().signal,
      onEvent: (event) => this.events.push(event),
      ...{ killAfterMs: 1_000, logBytes: 1_000_000 },
      ...rest,
    };
  }

  #sendBack(landing: Landing, sent: SentBack): Landing {
    this.sent.push({ id: landing.task, ...sent });
    const told = { reason: sent.reason, reworks: landing.reworks + 1 };
    const now = advance(landing, "sent_back", new Date().toISOString(), told);
    writeLanding(this.run, now, false);
    return now;
  }

  async merge(
    settings: Partial<MergeSettings> = {},
    more: Parameters<MergeWorld["context"]>[1] & { ids?: string[] } = {},
  ): Promise<void> {
    const { ids, ...rest } = more;
    await mergeOnce(await this.context(settings, rest), ids ?? null);
  }

  landing(id: string): Landing | null {
    return readLanding(this.run, id);
  }

  /** `t.1 landed`, in the order in which they came to rest. */
  get story(): string[] {
    return this.events.flatMap((event) =>
      event.kind === "landing" ? `${event.landing.task} ${event.landing.state}` : [],
    );
  }

  async ledger(event: LedgerLine["event"]): Promise<LedgerLine[]> {
    const lines: LedgerLine[] = [];
    for await (const line of this.store.ledger()) if (line.event === event) lines.push(line);
    return lines;
  }

  file(commit: string, path: string): string {
    return this.git("show", `${commit}:${path}`);
  }

  log(id: string): string {
    return readFileSync(join(this.run, "artifacts", `${id}.merge.log`), "utf8");
  }
}
