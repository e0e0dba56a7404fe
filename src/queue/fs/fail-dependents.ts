import { renameIfThere, syncFolder } from "./atomic.ts";
import { dependentsOf } from "./dependents.ts";
import { fileOf } from "./layout.ts";
import { type FsRun, record } from "./run.ts";

/** With `on_dependency_failed = "fail"`: what waits for a failed task fails too, and so on. */
export function failDependents(run: FsRun, id: string): void {
  const queue = [id];
  let moved = false;
  const { failed: target, waiting: source } = run.paths.state;
  for (let failed = queue.pop(); failed !== undefined; failed = queue.pop()) {
    for (const dependent of dependentsOf(run, failed)) {
      const from = fileOf(run.paths, "waiting", dependent);
      if (!renameIfThere(from, fileOf(run.paths, "failed", dependent))) continue;
      moved = true;
      record(run, {
        event: "cancelled",
        task: dependent,
        from: "waiting",
        to: "failed",
        note: `its dependency ${failed} failed`,
      });
      queue.push(dependent);
    }
  }
  if (moved && run.durability === "safe") {
    syncFolder(target);
    syncFolder(source);
  }
}
