import { listed } from "../../base/text.ts";
import { askGit, type GitPlace, git, gitNames } from "../../platform/git/git.ts";
import { type Before, excludeLine, type ReadyState } from "./ready-state.ts";

/** What a set-up may not leave behind in a worktree: changes that would be committed as a task's. */

export async function look(place: GitPlace, state: ReadyState): Promise<Before> {
  const changed = await changedIn(place);
  return { changed, stray: await strayIn(place, state), ignored: await ignoredIn(place) };
}

function changedIn(place: GitPlace): Promise<string[]> {
  return gitNames(["ls-files", "-z", "--modified", "--deleted"], place);
}

/** What git neither has nor ignores; a folder of such files once. */
function strayIn(place: GitPlace, state: ReadyState): Promise<string[]> {
  const brought = Object.keys(state.brought).map((path) => `--exclude=${excludeLine(path)}`);
  const which = ["--others", "--exclude-standard", ...brought];
  return gitNames(["ls-files", "-z", ...which, "--directory", "--no-empty-directory"], place);
}

export async function ignoredIn(place: GitPlace): Promise<string[]> {
  const which = ["--others", "--ignored", "--exclude-standard", "--directory"];
  const found = await gitNames(["ls-files", "-z", ...which], place);
  return found.map((name) => name.replace(/\/$/, ""));
}

/**
 * Tracked files that the set-up changed would be committed as the task's work: they get their content
 * back. Those that the task had changed before are its own.
 */
export async function restoreTracked(
  place: GitPlace,
  { changed }: Before,
  say: (line: string) => void,
): Promise<void> {
  const now = (await changedIn(place)).filter((path) => !changed.includes(path));
  if (now.length === 0) return;
  const stdin = now.map((path) => `${path}\0`).join("");
  await git(["checkout-index", "--force", "--quiet", "-z", "--stdin"], { ...place, stdin });
  say(`the set-up changed ${listed("tracked file", now)}; restored, because it would be committed`);
}

/** Such files would be committed too, and to remove them would undo the set-up. */
export async function strayAfter(
  place: GitPlace,
  state: ReadyState,
  before: Before,
): Promise<string | null> {
  const now = (await strayIn(place, state)).filter((path) => !before.stray.includes(path));
  if (now.length === 0) return null;
  const some = `${now.slice(0, 3).join(", ")}${now.length > 3 ? ", …" : ""}`;
  return `it made ${some}, which git does not ignore and would commit with the task's work; add it to .gitignore, or to .git/info/exclude`;
}

/** No task has worked here: what the set-up makes depends on the commit and the key alone. */
export async function isUntouched(
  place: GitPlace,
  state: ReadyState,
  { changed, stray, ignored }: Before,
  base: string,
): Promise<boolean> {
  const brought = Object.keys(state.brought);
  const isBrought = (path: string) =>
    brought.some((one) => one === path || one.startsWith(`${path}/`));
  if (changed.length + stray.length > 0 || !ignored.every(isBrought)) return false;
  const { status, stdout } = await askGit(["rev-parse", "--verify", "HEAD^{commit}"], place);
  return status === 0 && stdout.toString().trim() === base;
}
