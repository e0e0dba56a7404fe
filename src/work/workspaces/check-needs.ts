import { isVivError } from "../../base/errors.ts";
import { gitNames } from "../../platform/git/git.ts";
import type { Needs } from "../config-needs.ts";
import { planBringing } from "./bring.ts";
import { matches } from "./paths.ts";
import { findRepository } from "./worktree.ts";

/** What is wrong with the needs of a route, before any task is claimed; null when nothing is. */
export async function whyNotReady(
  needs: Needs,
  repository: string,
  base: string | undefined,
): Promise<string | null> {
  try {
    const { path } = await findRepository(repository);
    const { copies, links } = planBringing(path, needs);
    const list = await gitNames(["ls-tree", "-r", "-z", "--name-only", base ?? "HEAD"], {
      cwd: path,
    });
    const tracked = new Set(list);
    const both = copies.find((one) => needs.copy?.includes(one.path) && tracked.has(one.path));
    if (both)
      return `copy: ${both.path} is tracked by git, so a worktree has it already; take it out`;
    const inside = links.find((one) => list.some((at) => `${at}/`.startsWith(`${one.path}/`)));
    if (inside)
      return `link: ${inside.path} is tracked by git, so a worktree has it already; take it out`;
    const missing = needs.setupKey?.find((entry) => !list.some((at) => matches(at, entry)));
    if (missing === undefined) return null;
    return `setup_key: ${base ?? "HEAD"} of ${path} has no ${missing}; name files that git tracks`;
  } catch (error) {
    if (isVivError(error, "INVALID")) return error.message.replace(/\.$/, "");
    throw error;
  }
}
