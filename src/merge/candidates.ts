import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { git } from "../platform/git/git.ts";
import type { Store } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import { readRecord, recordedIn } from "../work/workspaces/record.ts";
import { commitOf, findRepository, type Repository } from "../work/workspaces/worktree.ts";
import { type Landing, readLanding, tasksWithLanding } from "./landing.ts";
import { inOrder, type Ordered } from "./order.ts";
import { isOpen, isSettled } from "./transitions.ts";

/** A task that has, or had, a branch of its own. */
export interface Branch {
  id: string;
  /** As it was written down; it need not exist any more. */
  repository: string;
  branch: string;
  /** The commit that it began at. */
  base: string;
  landing: Landing | null;
}

/** A done task whose branch is to land. */
export interface Candidate extends Branch, Ordered {
  /** The commit that its branch ends at; null when the branch is gone. */
  head: string | null;
  type: string;
  task: Task;
  attempt: number;
}

/** The tasks with branches, of all or of these; in no order. */
export function branchesOf(store: Store, wanted: readonly string[] | null): Branch[] {
  const all = () => [...recordedIn(store.workspaces), ...tasksWithLanding(store.folder)];
  const ids = new Set(wanted ?? all());
  return [...ids].filter(isName).flatMap((id) => branchOfTask(store, id) ?? []);
}

/** After `workspaces gc` the landing still knows it. Null for a task without a branch. */
export function branchOfTask(
  store: Pick<Store, "folder" | "workspaces">,
  id: string,
): Branch | null {
  const landing = readLanding(store.folder, id);
  const record = readRecord(store.workspaces, id);
  const known = record?.kind === "worktree" ? record : landing;
  if (known === null) return null;
  const { repository, branch, base } = known;
  return { id, repository, branch, base, landing };
}

export interface Repositories {
  repository: Repository;
  /** The paths under which the tasks know it. */
  paths: Set<string>;
}

/** The repositories of these branches, each once. Of one that is gone: the error that says so. */
export async function repositoriesOf(
  branches: readonly Branch[],
): Promise<{ found: Repositories[]; gone: Map<string, VivError> }> {
  const found = new Map<string, Repositories>();
  const gone = new Map<string, VivError>();
  for (const path of new Set(branches.map(({ repository }) => repository))) {
    try {
      const repository = await findRepository(path);
      const one = found.get(repository.gitDir) ?? { repository, paths: new Set() };
      one.paths.add(path);
      found.set(repository.gitDir, one);
    } catch (error) {
      if (!(error instanceof VivError)) throw error;
      gone.set(path, error);
    }
  }
  return { found: [...found.values()], gone };
}

/** The refs of these branches; of all, where there are many. */
export function refsOf(branches: readonly Branch[]): string[] {
  if (branches.length > 100) return ["refs/heads/"];
  return branches.map(({ branch }) => `refs/heads/${branch}`);
}

/** The commits that these branches end at. */
async function headsOf(
  { path }: Repository,
  branches: readonly Branch[],
): Promise<Map<string, string>> {
  const format = "--format=%(objectname) %(refname:lstrip=2)";
  const text = await git(["for-each-ref", format, ...refsOf(branches)], { cwd: path });
  return new Map(
    text.split("\n").map((line) => {
      const [commit = "", branch = ""] = line.split(" ");
      return [branch, commit] as const;
    }),
  );
}

/**
 * Those of the branches that the queue has something to do about: their task is done, and they have
 * not landed, or have other commits since. In the order in which they are to land.
 */
export async function candidatesAmong(
  store: Store,
  repository: Repository,
  branches: readonly Branch[],
): Promise<Candidate[]> {
  const heads = await headsOf(repository, branches);
  const found: Candidate[] = [];
  for (const one of branches) {
    const head = heads.get(one.branch) ?? null;
    if (one.landing !== null && !isDue(one.landing, head)) continue;
    const view = await store.show(one.id);
    if (view?.state !== "done" || view.task === null) continue;
    const { task, since } = view;
    const isReworked = (one.landing?.reworks ?? 0) > 0;
    found.push({
      ...{ ...one, head, task, type: task.task_type },
      ...{ since, dependsOn: task.depends_on, isReworked },
      /** Only a proof asks for it. */
      get attempt() {
        return Math.max(1, view.history.length);
      },
    });
  }
  return inOrder(found);
}

/** Of a done task. */
function isDue(landing: Landing, head: string | null): boolean {
  const isOther = head !== null && head !== landing.head;
  return isOpen(landing.state) || (isSettled(landing.state) && isOther);
}

/**
 * A dependency whose work is not in the target yet: then it comes first. `isBefore`: it goes there before
 * the candidate. `known`: its landing, where it is newer than the file.
 */
export async function waitsFor(
  store: Store,
  repository: Repository,
  candidate: Candidate,
  isBefore: (id: string) => boolean,
  known: (id: string) => Landing | undefined = () => undefined,
): Promise<string | null> {
  for (const id of candidate.dependsOn) {
    if (isBefore(id)) continue;
    const branch = isName(id) ? branchOfTask(store, id) : null;
    if (branch === null || branch.repository !== candidate.repository) continue;
    const landing = known(id) ?? branch.landing;
    if (landing !== null && isSettled(landing.state)) continue;
    if ((await commitOf(repository, `refs/heads/${branch.branch}`)) !== null) return id;
  }
  return null;
}
