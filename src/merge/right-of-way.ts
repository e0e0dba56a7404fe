import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { unlessTaken } from "../base/errno.ts";
import { unlessCorrupt } from "../base/errors.ts";
import { mkdirSync, removeSync, writeNewSync } from "../platform/files/beneath.ts";
import { askGit } from "../platform/git/git.ts";
import type { Repository } from "../work/workspaces/worktree.ts";
import type { Candidate } from "./candidates.ts";
import { folderOf, type Landing, readLanding } from "./landing.ts";
import type { MergeContext } from "./session.ts";
import type { Target } from "./target.ts";

/**
 * A task that went back has the right of way: until the queue has it again, or it has failed, no other
 * work lands in the files that it has changed. Without that, of many tasks that change one place, each
 * rework would end with the next conflict, because another one has landed meanwhile.
 *
 * `merge/.reworked/<id>` only saves reading every landing: a mark that is missing costs one more
 * rework, and one that is stale is removed by its reader.
 */
const marksOf = (run: string) => join(folderOf(run), ".reworked");

/** Called before the landing says that the task went back. */
export function markReworked(run: string, task: string): void {
  mkdirSync(marksOf(run), { recursive: true, mode: 0o700 });
  unlessTaken(() => writeNewSync(join(marksOf(run), task), ""));
}

/** None through a link, and no folders: a stale mark is removed. */
function marksIn(run: string): string[] {
  const folder = marksOf(run);
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((one) => one.isFile()).map(({ name }) => name);
}

/** One that has failed, was cancelled or quarantined, or is gone, may never be done. */
const AT_WORK: readonly string[] = ["waiting", "pending", "claimed", "review"];

interface Place {
  context: Pick<MergeContext, "store" | "goAhead">;
  repository: Repository;
  target: Pick<Target, "branch">;
  /** Those that a plan has before it; a real pass writes that into their landings. */
  due?: ReadonlySet<string>;
}

export class RightOfWay {
  readonly #place: Place;
  readonly #files = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(place: Place) {
    this.#place = place;
  }

  /** Why the candidate has to wait. */
  async waitsFor(candidate: Candidate): Promise<string | null> {
    if (this.#place.context.goAhead?.has(candidate.id)) return null;
    for (const landing of await this.#reworked()) {
      if (landing.task === candidate.id) continue;
      const theirs = await this.#changed(landing.base, landing.head);
      const { base, head } = candidate;
      for (const file of await this.#changed(base, head ?? base)) {
        if (!theirs.has(file)) continue;
        return `waits for the rework of ${landing.task}, which changes ${file} too`;
      }
    }
    return null;
  }

  /**
   * The landings of tasks that went back to come into this target, and are at work, or were done after
   * this pass had begun: the next one has them.
   */
  async #reworked(): Promise<Landing[]> {
    const { context, repository, target, due } = this.#place;
    const { store } = context;
    const found: Landing[] = [];
    for (const task of marksIn(store.folder)) {
      const landing = unlessCorrupt(() => readLanding(store.folder, task));
      if (landing === null || !["reworked", "conflict", "red"].includes(landing.state)) {
        removeSync(join(marksOf(store.folder), task));
        continue;
      }
      if (landing.repository !== repository.path || landing.target !== target.branch) continue;
      const { state = "gone" } = (await store.show(task)) ?? {};
      const isNext = state === "done" && landing.state === "reworked" && !due?.has(task);
      if (isNext || AT_WORK.includes(state)) found.push(landing);
    }
    return found;
  }

  /** Empty where git does not know these commits any more. */
  #changed(from: string, to: string): Promise<ReadonlySet<string>> {
    const key = `${from} ${to}`;
    const known = this.#files.get(key) ?? this.#diff(from, to);
    this.#files.set(key, known);
    return known;
  }

  async #diff(from: string, to: string): Promise<ReadonlySet<string>> {
    const question = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to];
    const { stdout } = await askGit(question, { cwd: this.#place.repository.path });
    return new Set(stdout.toString().split("\0").filter(Boolean));
  }
}
