import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import type { Env } from "../../operation/operation.ts";
import { askGit, type GitAnswer, git, lastWord } from "../../platform/git/git.ts";
import { held } from "./forge.ts";
import { redacted } from "./redact.ts";

/** git's side of a forge: the remote, its branches, the push. */

export interface RemoteFacts {
  /** The branch that a clone would check out; null when the remote has none. */
  defaultBranch: string | null;
  /** The commits of the branches that were asked for. */
  commits: ReadonlyMap<string, string>;
}

/** The remote to push to: the one that is set, else the target's or the branch's, else origin. */
export async function remoteOf(
  repository: string,
  { wanted, branches }: { wanted?: string; branches: readonly string[] },
): Promise<string> {
  const cwd = repository;
  const names = (await git(["remote"], { cwd })).split("\n").filter((name) => name !== "");
  const candidates = [wanted];
  if (wanted === undefined) {
    for (const branch of branches) candidates.push(await setting(cwd, `branch.${branch}.remote`));
    candidates.push(await setting(cwd, "remote.pushDefault"), "origin");
    if (names.length === 1) candidates.push(names[0]);
  }
  // Only a name on the list: a setting may hold a URL or a dot as well.
  const found = candidates.find((name) => name !== undefined && names.includes(name));
  if (found !== undefined) return found;
  const there = names.length === 0 ? "has no remote" : `has the remotes ${names.join(", ")}`;
  const what = wanted === undefined ? "none is called origin" : `none is called ${wanted}`;
  throw new VivError(
    "INVALID",
    `${repository} ${there}, and ${what}; add one with git remote add, or set remote in [merge].`,
  );
}

async function setting(cwd: string, key: string): Promise<string | undefined> {
  const { status, stdout } = await askGit(["config", "--get", key], { cwd });
  return status === 0 ? stdout.toString().trim() : undefined;
}

/** As it is written, then as git resolves it: one of them may name the forge. */
export async function urlsOf(repository: string, remote: string): Promise<string[]> {
  const written = await setting(repository, `remote.${remote}.url`);
  const resolved = await git(["remote", "get-url", remote], { cwd: repository });
  return [written ?? "", resolved].filter((url) => url !== "");
}

/** Pushes may take long; a dead connection should not take for ever. */
const PATIENCE_MS = 10 * 60_000;
/** A look is short: who does not answer it is not there, and a worker that ends waits for it. */
const LOOK_MS = 60_000;
/** Seconds without a byte, after which git gives up a transfer. */
const SILENCE = { GIT_HTTP_LOW_SPEED_LIMIT: "1", GIT_HTTP_LOW_SPEED_TIME: "60" };

/** For git commands that use the network: with the user's way of logging in, and without a question. */
function online(repository: string, env: Env, patienceMs: number) {
  const kept = ["GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS"];
  const set = kept.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  // Without a terminal, ssh asks this program; it answers nothing, and ssh says so.
  const silent = { SSH_ASKPASS: "/bin/false", SSH_ASKPASS_REQUIRE: "force" };
  return {
    cwd: repository,
    env: { ...SILENCE, ...silent, ...Object.fromEntries(set) } as Record<string, string>,
    signal: AbortSignal.timeout(patienceMs),
  };
}

async function askRemote(
  args: readonly string[],
  repository: string,
  env: Env,
  patienceMs = PATIENCE_MS,
) {
  try {
    return await askGit(args, online(repository, env, patienceMs));
  } catch (error) {
    if ((error as { cause?: { name?: string } }).cause?.name !== "AbortError") throw error;
    throw held(`git ${args[0]} had no answer for ${formatDuration(patienceMs)}.`, {
      ...{ unsure: true, isRemote: true },
    });
  }
}

export async function readRemote(
  repository: string,
  remote: string,
  branches: readonly string[],
  env: Env,
  patienceMs = LOOK_MS,
): Promise<RemoteFacts> {
  const refs = branches.map((branch) => `refs/heads/${branch}`);
  const answer = await askRemote(
    ["ls-remote", "--symref", "--", remote, "HEAD", ...refs],
    repository,
    env,
    patienceMs,
  );
  if (answer.status !== 0) throw unreachable(remote, answer, env);
  const commits = new Map<string, string>();
  let defaultBranch: string | null = null;
  for (const line of answer.stdout.toString().split("\n")) {
    const [what = "", name = ""] = line.split("\t");
    const [, head] = /^ref: refs\/heads\/(.+)$/.exec(what) ?? [];
    if (head !== undefined && name === "HEAD") defaultBranch = head;
    else if (name.startsWith("refs/heads/")) commits.set(name.slice("refs/heads/".length), what);
  }
  return { defaultBranch, commits };
}

function unreachable(remote: string, { stderr }: GitAnswer, env: Env): VivError {
  return held(`the remote ${remote} cannot be read: ${redacted(lastWord(stderr), env)}.`, {
    isRemote: true,
  });
}

export interface Push {
  remote: string;
  branch: string;
  commit: string;
  /** The commit that the remote's branch has now; null when there is none. */
  over: string | null;
}

/** Moves the remote's branch from `over` to `commit`, or refuses: another push was faster. */
export async function push(repository: string, one: Push, env: Env): Promise<void> {
  const ref = `refs/heads/${one.branch}`;
  const answer = await askRemote(
    [
      ...["push", "--porcelain", "--no-verify", "--no-follow-tags"],
      ...["--recurse-submodules=no", `--force-with-lease=${ref}:${one.over ?? ""}`],
      ...["--", one.remote, `${one.commit}:${ref}`],
    ],
    repository,
    env,
  );
  if (answer.status !== 0) throw refusedPush(one, answer, env);
}

function refusedPush({ remote, branch }: Push, answer: GitAnswer, env: Env): VivError {
  const { stderr } = answer;
  const line = answer.stdout.toString().match(/^!\t[^\t]*\t(.*)$/m)?.[1];
  if (line === undefined) return unreachable(remote, answer, env);
  const only = { isOne: true };
  if (line.includes("stale info")) {
    return held(`${remote} has moved ${branch} meanwhile; nothing was pushed over it.`, only);
  }
  const said = stderr.match(/^remote: *(?:error: *)?(\S.*)$/m)?.[1];
  const why = redacted([line, said].filter(Boolean).join(": "), env);
  return held(`${remote} refused the push of ${branch}: ${why}.`, only);
}

/** The remote's commit of a branch, with its history, kept by a ref of our own. */
export async function fetchTip(
  repository: string,
  remote: string,
  branch: string,
  env: Env,
): Promise<string> {
  const ref = `refs/viv/forge/${remote}/${branch}`;
  const answer = await askRemote(
    ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"].concat([
      "--",
      remote,
      `+refs/heads/${branch}:${ref}`,
    ]),
    repository,
    env,
  );
  if (/couldn't find remote ref/.test(answer.stderr)) {
    throw held(`the remote ${remote} has no branch ${branch} any more.`, { isOne: true });
  }
  if (answer.status !== 0) throw unreachable(remote, answer, env);
  return git(["rev-parse", "--verify", `${ref}^{commit}`], { cwd: repository });
}
