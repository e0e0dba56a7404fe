import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { unlessTaken } from "../base/errno.ts";
import { VivError } from "../base/errors.ts";
import { statesOf } from "../org/org.ts";
import { askGit, git } from "../platform/git/git.ts";
import { assertWhole, decodeBoard, readBoard } from "./board.ts";
import { type BoardCheckout, checkoutOf, operationUnderWay, unusable } from "./checkout.ts";

const STATES = "ASSIGNED RESEARCH WRITING EDIT | PUBLISHED KILLED";
const SUBJECT = "desk: the board";

export interface NewBoard {
  file: string;
  states: string[];
  /** The file was made; false: it was there and is kept as it is. */
  isNew: boolean;
  /** Null: it was committed before. */
  commit: string | null;
}

/** Makes a board and commits it, so that tasks can be claimed: one that is not committed is none. */
export async function initBoard(
  given: string,
  states: string | undefined,
  agent: string,
): Promise<NewBoard> {
  const text = boardWith(states ?? STATES);
  const file = resolve(given);
  const folder = dirname(file);
  // Before anything is made.
  const inside = existsSync(folder)
    ? await askGit(["rev-parse", "--is-inside-work-tree"], { cwd: folder })
    : null;
  if (inside !== null && inside.stdout.toString().trim() !== "true") {
    const what = `${folder} is in no git repository, and claims are commits`;
    throw unusable(`${what}; make one with: git init ${folder}`, { file });
  }
  const checkout = await checkoutOf(file);
  const underWay = operationUnderWay(checkout);
  if (underWay !== null) {
    throw new VivError(
      "WRONG_STATE",
      `${underWay} is under way in ${checkout.top}; finish it first.`,
    );
  }
  const isOld = await isCommitted(checkout);
  if (!isOld && (await isIgnored(checkout))) {
    throw unusable(`git ignores ${file}, and claims are commits; take it out of .gitignore.`, {
      file,
    });
  }
  const isNew = wasMade(checkout.file, text);
  const board = readBoard(decodeBoard(readFileSync(checkout.file)).text);
  assertWhole(board, checkout.file);
  if (board.tasks.length === 0 && !board.org.keywords.some(({ name }) => /TODO$/.test(name))) {
    throw unusable(`${file} is there and is no board: it has no #+TODO: line and no task.`, {
      file,
    });
  }
  const commit = isOld || (await isCommitted(checkout)) ? null : await commitFile(checkout, agent);
  return { file: checkout.file, states: statesOf(board.org), isNew, commit };
}

function boardWith(states: string): string {
  const words = states.trim().split(/\s+/);
  const bars = words.filter((word) => word === "|").length;
  const isOne = words.every((word) => /^[\p{L}\p{N}_-]+$|^\|$/u.test(word));
  const at = words.indexOf("|");
  if (!isOne || bars !== 1 || at === 0 || at === words.length - 1) {
    const message = `--states ${JSON.stringify(states)} must be words, with a bar before the final ones: "${STATES}".`;
    throw new VivError("USAGE", message);
  }
  return `#+TITLE: board\n#+TODO: ${words.join(" ")}\n`;
}

/** False: it is there. */
function wasMade(file: string, text: string): boolean {
  return unlessTaken(() => writeFileSync(file, text, { flag: "wx" }));
}

async function isCommitted({ top, path }: BoardCheckout): Promise<boolean> {
  return (await askGit(["cat-file", "-e", `HEAD:${path}`], { cwd: top })).status === 0;
}

async function isIgnored({ top, path }: BoardCheckout): Promise<boolean> {
  return (await askGit(["check-ignore", "-q", "--", path], { cwd: top })).status === 0;
}

/** That file alone, also as the first commit of a repository. Nothing is signed, and no hooks run. */
async function commitFile(checkout: BoardCheckout, agent: string): Promise<string | null> {
  const { top, path } = checkout;
  const known = await askGit(["var", "GIT_AUTHOR_IDENT"], { cwd: top });
  const own = [`user.name=${agent}`, `user.email=${agent}@localhost`];
  const settings = ["commit.gpgsign=false", ...(known.status === 0 ? [] : own)];
  await git(["--literal-pathspecs", "add", "--", path], { cwd: top });
  const commit = ["commit", "-q", "-m", `${SUBJECT}\n\nAgent: ${agent}`, "--only", "--", path];
  const args = ["--literal-pathspecs", ...settings.flatMap((one) => ["-c", one]), ...commit];
  try {
    await git(args, { cwd: top });
  } catch (error) {
    // Another process was as fast.
    if (await isCommitted(checkout)) return null;
    throw error;
  }
  return git(["rev-parse", "HEAD"], { cwd: top });
}
