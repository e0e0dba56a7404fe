import type { Config } from "../base/section.ts";
import type { Store } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import type { Begin } from "../work/workspaces/begin.ts";
import { branchOfTask } from "./candidates.ts";
import { mergeSection } from "./config.ts";
import { ownTarget } from "./own-target.ts";

/**
 * Where a task's branch begins: at the target, if that exists, with the work of its dependencies that
 * has not landed there yet.
 */
export function beginOf(
  store: Pick<Store, "runId" | "folder" | "workspaces">,
  { depends_on }: Task,
  config: Config | undefined,
): Begin {
  const into = config?.section(mergeSection).into;
  const dependencies = [...new Set(depends_on)].flatMap((task) => {
    const found = branchOfTask(store, task);
    if (found === null || found.landing?.state === "landed") return [];
    return [{ task, branch: found.branch, repository: found.repository }];
  });
  const target: Begin["target"] = async (repository) =>
    into ?? (await ownTarget(repository, store)).branch;
  return { target, dependencies };
}
