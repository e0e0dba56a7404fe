import { readFileSync } from "node:fs";
import { join } from "node:path";
import { askGitNow } from "../platform/git/git.ts";
import type { BoardPlace } from "./place.ts";

const HEADS = "refs/heads/";

/** The branch that is checked out; null for none. */
export function branchOf(place: BoardPlace): string | null {
  const ref = refInFile(join(place.gitDir, "HEAD")) ?? refByGit(place);
  return ref?.startsWith(HEADS) ? ref.slice(HEADS.length) : null;
}

/**
 * Null where the file does not tell: with another kind of store it names `.invalid`, and long ago
 * it was a link to the branch.
 */
function refInFile(head: string): string | null {
  try {
    const ref = /^ref: *(\S+)\s*$/.exec(readFileSync(head, "utf8"))?.[1];
    return ref === undefined || ref === `${HEADS}.invalid` ? null : ref;
  } catch {
    return null; // git says what is wrong with it
  }
}

function refByGit({ top }: BoardPlace): string | null {
  const answer = askGitNow(["symbolic-ref", "-q", "HEAD"], { cwd: top });
  return answer.status === 0 ? answer.stdout.toString("utf8").trim() : null;
}

/** The branch's commit if that can be read without git, as right after it was moved; else null. */
export function commitInFile({ commonDir }: BoardPlace, branch: string): string | null {
  try {
    return readFileSync(join(commonDir, HEADS, branch), "utf8").trim();
  } catch {
    return null; // packed, or another kind of store: git must be asked
  }
}
