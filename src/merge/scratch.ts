import { createHash } from "node:crypto";
import { lstatSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ifThere } from "../base/errno.ts";
import { mkdirSync } from "../platform/files/beneath.ts";
import { type GitOptions, type GitPlace, git, gitInTurn } from "../platform/git/git.ts";
import {
  adminOf,
  forget,
  isHalfMade,
  placeOf,
  type Repository,
  restorePointer,
} from "../work/workspaces/worktree.ts";

/**
 * The queue's own worktree of a repository, with a detached HEAD: `merge/.scratch/<key>/` in the
 * run. Merges are proven in it. Only the holder of the repository's queue lock uses it, so what a
 * killed process left in it is simply cleared away.
 */
export class Scratch {
  readonly path: string;
  readonly place: GitPlace;
  #isUsed = true;
  /** The commit whose files it has, as long as nothing has used it. */
  #at: string | null = null;

  private constructor(path: string, place: GitPlace) {
    this.path = path;
    this.place = place;
  }

  static async open(run: string, repository: Repository, commit: string): Promise<Scratch> {
    const path = scratchPath(run, repository);
    mkdirSync(join(run, "merge/.scratch"), { recursive: true, mode: 0o700 });
    const isThere = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    let admin = adminOf(repository, path);
    if (admin !== null && (!isThere || isHalfMade(admin))) {
      rmSync(path, { recursive: true, force: true });
      await forget(repository, path);
      admin = null;
    }
    if (admin === null) {
      rmSync(path, { recursive: true, force: true });
      const add = ["worktree", "add", "--quiet", "--detach", "--no-checkout", path, commit];
      await git(add, { cwd: repository.path });
      admin = adminOf(repository, path) ?? "";
    } else {
      for (const file of LEFT_BY_KILLED)
        rmSync(join(admin, file), { recursive: true, force: true });
      rmSync(join(path, ".git"), { recursive: true, force: true });
      restorePointer(admin, path);
    }
    const scratch = new Scratch(path, placeOf(admin, path));
    await scratch.detach(commit);
    return scratch;
  }

  /** A proof may have checked out a branch: the next reset would move it, and it would be in use here. */
  async detach(commit: string): Promise<void> {
    const head = ifThere(() => readFileSync(join(this.place.gitDir ?? "", "HEAD"), "utf8"));
    if (head !== null && !head.startsWith("ref:")) return;
    await this.git(["update-ref", "--no-deref", "HEAD", commit]);
  }

  /** Something may have written into it. */
  use(): void {
    this.#isUsed = true;
    this.#at = null;
  }

  /** The commands that make it have exactly the files of a commit. */
  resetting(commit: string): string[][] {
    const reset = [...OWN_SETTINGS, "reset", "--quiet", "--hard", commit];
    return this.#isUsed ? [reset, [...OWN_SETTINGS, "clean", "-ffdxq"]] : [reset];
  }

  /** They have been run. */
  hasBecome(commit: string): void {
    this.#at = commit;
    this.#isUsed = false;
  }

  git(args: readonly string[], more: Partial<GitOptions> = {}): Promise<string> {
    return git([...OWN_SETTINGS, ...args], { ...this.place, ...more });
  }

  /** Exactly the files of that commit: a proof must not depend on what an earlier one left. */
  async become(commit: string): Promise<void> {
    if (this.#at === commit) return;
    await gitInTurn(this.resetting(commit), this.place);
    this.hasBecome(commit);
  }
}

/** By the repository, of which a run may have several. */
export function scratchPath(run: string, { gitDir }: Repository): string {
  const key = createHash("sha256").update(gitDir).digest("hex").slice(0, 12);
  return join(run, "merge/.scratch", key);
}

const LEFT_BY_KILLED = [
  ...["rebase-merge", "rebase-apply"],
  ...["CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD", "AUTO_MERGE"],
];

/** Whole, also where the user's own checkout is sparse. */
const OWN_SETTINGS = [
  "core.sparseCheckout=false",
  "core.logAllRefUpdates=false",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting]);
