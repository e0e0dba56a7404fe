/**
 * Where tasks work: `workspaces/<id>/` in the run, either an empty folder ("dir") or a git worktree
 * on a branch of its own ("worktree"). A workspace stays as it is from attempt to attempt, and is
 * removed only when nothing in it is lost by that.
 */

export { commitWorkspace } from "./workspaces/commit.ts";
export { listWorkspaces, type WorkspaceInfo } from "./workspaces/inspect.ts";
export { openWorkspace, type WorkspaceRequest } from "./workspaces/open.ts";
export { branchOf } from "./workspaces/record.ts";
export { type RemovedWorkspace, removeWorkspace } from "./workspaces/remove.ts";
