import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { ifThere } from "../../base/errno.ts";
import { askGit, checkoutAbove, git } from "./git.ts";

/**
 * Has git ignore a folder, in this clone alone: a line in its `info/exclude`, which linked worktrees
 * share. Returns the line and the file; null when git ignores it already, or has no say there.
 */
export async function excludeFromGit(
  folder: string,
): Promise<{ file: string; line: string } | null> {
  const cwd = dirname(folder);
  const name = basename(folder);
  if (checkoutAbove(cwd) === null || /[\n\r]/.test(folder)) return null;
  const ignored = await askGit(["check-ignore", "-q", "--no-index", "--", `./${name}/`], { cwd });
  // Above 1: no checkout, or one that git does not trust, and in which it lists nothing.
  if (ignored.status !== 1) return null;
  const answer = await git(["rev-parse", "--show-prefix", "--git-path", "info/exclude"], { cwd });
  const [prefix = "", path = ""] = answer.split("\n");
  const file = resolve(cwd, path);
  // The usual name is hidden wherever it is; another only at its place.
  const line = name === ".crew" ? ".crew/" : `/${escaped(prefix + name)}/`;
  const text = ifThere(() => readFileSync(file, "utf8")) ?? "";
  if (text.split(/\r?\n/).includes(line)) return null; // and another rule takes it back: a decision
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`);
  return { file, line };
}

/** Of a pattern's own signs; a space would count only at the end, before which a slash stands. */
function escaped(path: string): string {
  return path.replace(/[\\*?[\]]/g, "\\$&");
}
