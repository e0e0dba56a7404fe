import type { Command } from "../../operation/command.ts";
import { plain, table } from "../../operation/term.ts";
import { paintState } from "../../queue/cli/paint.ts";
import { workspaces } from "../operations/workspaces.ts";

interface Workspace {
  id: string;
  state: string | null;
  kind: string;
  path: string;
  branch?: string;
  dirty: boolean;
  ahead: number;
  merged: boolean;
  missing: boolean;
  bytes: number;
}

interface Output {
  workspaces: Workspace[];
  gc?: {
    id: string;
    removed: boolean;
    archived?: string;
    branch_kept?: string;
    reason?: string;
  }[];
  homes?: string[];
}

export const command: Command = {
  op: workspaces,
  positionals: [{ key: "action" }, { key: "id", many: true }],
  examples: [
    ["viv workspaces", "where tasks work or worked, and what is not merged yet"],
    ["viv workspaces gc", "remove those of ended tasks; unmerged work is kept as a patch"],
  ],
  human: (output: Output, term) => {
    const { color } = term;
    if (output.gc) {
      const lines = output.gc.map(({ id, removed, archived, branch_kept, reason }) => {
        const kept = [
          archived ? `patch in ${plain(archived)}` : "",
          branch_kept ? `branch ${plain(branch_kept)} kept` : "",
          reason ? plain(reason) : "",
        ].filter((text) => text !== "");
        const what = removed ? color.green("removed") : color.yellow("kept");
        return `${what} ${id}${kept.length > 0 ? color.dim(` (${kept.join("; ")})`) : ""}`;
      });
      for (const id of output.homes ?? []) {
        lines.push(`${color.green("removed")} ${plain(id)} ${color.dim("(what its engine kept)")}`);
      }
      return lines.length > 0 ? lines.join("\n") : color.dim("no workspaces");
    }
    if (output.workspaces.length === 0) return color.dim("no workspaces");
    return table(
      output.workspaces.map((one) => [
        one.state === null ? color.dim("gone") : paintState(one.state as never, term),
        one.id,
        one.branch ? plain(one.branch) : one.kind,
        situation(one),
        plain(one.path),
      ]),
      term,
    );
  },
};

function situation({ dirty, ahead, merged, missing, kind }: Workspace): string {
  if (missing) return "folder is gone";
  if (kind === "dir") return dirty ? "has files" : "empty";
  const commits = ahead > 0 ? `${ahead} commit${ahead === 1 ? "" : "s"} not merged` : "";
  return [dirty ? "uncommitted changes" : "", commits, merged && !dirty ? "merged" : ""]
    .filter((text) => text !== "")
    .join(", ");
}
