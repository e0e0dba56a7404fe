/**
 * What the four stand-ins have in common. Each does what a model would do with its def: reads what it is
 * told, looks at the board, claims, works, commits, passes on. They work in the repository: it is their folder.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";

const { VIV_AGENT: me, VIV_STEPS: steps, VIV_LIFECYCLE: lifecycle } = process.env;
const identity = { GIT_AUTHOR_NAME: me, GIT_AUTHOR_EMAIL: `${me}@newsroom.example` };
const env = {
  ...process.env,
  ...identity,
  GIT_COMMITTER_NAME: identity.GIT_AUTHOR_NAME,
  GIT_COMMITTER_EMAIL: identity.GIT_AUTHOR_EMAIL,
};

/** What it is told, on stdin: first the laws, then its def, then the mode. Without them it does nothing. */
export function readBrief(def) {
  const told = readFileSync(0, "utf8");
  const parts = [titleOf("laws.org"), titleOf(def), "\nMODE: edit\n"];
  if (lifecycle) parts.push(`\nLIFECYCLE: ${lifecycle}\n`);
  const at = parts.map((part) => told.indexOf(part));
  const missing = parts.find((_, index) => at[index] === -1);
  if (missing !== undefined) giveUp(`nobody told me ${JSON.stringify(missing.trim())}`);
  if (at[0] !== 0 || at.some((one, index) => index > 0 && one < at[index - 1])) {
    giveUp("I was told in the wrong order: the laws come first");
  }
}

function titleOf(file) {
  return readFileSync(file, "utf8").split("\n")[0];
}

export function giveUp(why) {
  console.error(why);
  process.exit(1);
}

/** Nothing to do: the next tick is later, and later each time. It must be all that is said. */
export function noWork(why) {
  console.log(`NO-WORK: ${why}`);
  process.exit(0);
}

/** For /_activity: a step of this run. A vendor's engine tells its steps itself; a command, in this file. */
function step(tool, target) {
  if (steps) appendFileSync(steps, `${JSON.stringify({ tool, target })}\n`);
}

export function board(verb, ...args) {
  if (verb !== "next" && verb !== "ls") step("board", [verb, args[0]].join(" "));
  const { status, stdout, stderr } = run("viv", ["board", verb, ...args, "--json"]);
  if (status !== 0) giveUp(`viv board ${verb} ${args[0] ?? ""}: ${stderr}`);
  return JSON.parse(stdout);
}

/** The first story in this state that is ours or nobody's, claimed; null if there is none. */
export function takeNext(state) {
  const { task } = board("next", "--state", state);
  if (task === null) return null;
  board("claim", task.slug);
  return task;
}

/** What stands under a story on the board: the lead, and what happened to it so far. */
export function textOf({ slug, title }) {
  const [, ...tasks] = run("git", ["show", "HEAD:board.org"]).stdout.split(/^\* /m);
  const text = tasks.find((task) => task.split("\n")[0].endsWith(` ${title}`));
  return text ?? giveUp(`${slug} is no longer on the board`);
}

/**
 * Commits this one file and nothing else. The others commit in the same repository: with `-- path` git
 * takes everything else from HEAD, not from an index that may be behind the board, and moves the
 * branch only from where it found it. Who comes too late tries again.
 */
export function commit(file, subject) {
  step("commit", file);
  for (let tries = 0; tries < 100; tries++) {
    const add = run("git", ["add", "--", file]);
    const made = add.status === 0 ? run("git", ["commit", "-q", "-m", subject, "--", file]) : add;
    if (made.status === 0) return;
    const said = `${made.stderr}${made.stdout}`;
    if (/nothing to commit|nothing added to commit|no changes added/.test(said)) return; // by an earlier run
    if (!/index\.lock|cannot lock ref|but expected/.test(said))
      giveUp(`git commit ${file}: ${said}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10 + Math.random() * 40);
  }
  giveUp(`git commit ${file}: somebody was always faster`);
}

function run(program, args) {
  const ended = spawnSync(program, args, { env, encoding: "utf8" });
  if (ended.error) throw ended.error;
  return ended;
}
