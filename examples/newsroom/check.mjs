#!/usr/bin/env node
/** Did it go as the laws say? Believes nobody: reads the board, the log, the files and every source. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { problemsOf } from "./stand-in/sources.mjs";

const WORDS = { desk: ["desk"], moss: ["research"], wren: ["write"], hale: ["edit", "publish"] };
const LANDS = { desk: "-", moss: "content/research/", wren: "content/stories/", hale: "-" };

const problems = [];
const { tasks } = JSON.parse(say("viv", "board", "ls", "--json"));
const commits = say("git", "log", "--reverse", "--name-only", "--format=%x00%an%x00%s")
  .split("\0")
  .slice(1)
  .flatMap((author, at, all) => (at % 2 === 0 ? [[author, ...all[at + 1].trim().split("\n")]] : []))
  .map(([author, subject, ...files]) => ({ author, subject, files: files.filter(Boolean) }))
  .filter(({ author }) => author in WORDS);

const leads = readFileSync("leads.org", "utf8").match(/^\* /gm).length;
if (tasks.length !== leads) problems.push(`${leads} leads, but ${tasks.length} stories`);
const published = tasks.filter(({ state }) => state === "PUBLISHED");
for (const { slug, state, agent } of tasks) {
  if (agent !== null) problems.push(`${agent} still has ${slug}`);
  if (state !== "PUBLISHED" && state !== "KILLED") problems.push(`${slug} is ${state}`);
  const times = subjects(`publish: ${slug} — `).length;
  const wanted = state === "PUBLISHED" ? 1 : 0;
  if (times !== wanted) problems.push(`${slug} was published ${times} times, and is ${state}`);
  if (state === "KILLED" && existsSync(`content/stories/${slug}.md`)) {
    problems.push(`${slug} was killed, and there is a story`);
  }
  problems.push(...claimsOf(slug));
}
for (const { slug } of published) {
  for (const problem of problemsOf(slug)) problems.push(`${slug} is published: ${problem}`);
  if (!/^\* gaps\n/m.test(readFileSync(`content/research/${slug}.org`, "utf8"))) {
    problems.push(`${slug} has no gaps section`);
  }
}
for (const { author, subject, files } of commits) {
  const [word] = subject.split(":");
  if (!WORDS[author].includes(word)) problems.push(`${author} said "${subject}"`);
  for (const file of files) {
    const isOurs = file === "board.org" || file.startsWith(LANDS[author]);
    if (!isOurs) problems.push(`${author} wrote ${file}, in "${subject}"`);
  }
}
const bounces = subjects("edit: bounce ").length;
if (bounces !== 1) problems.push(`${bounces} bounces`);
const left = say("git", "status", "--porcelain");
if (left !== "") problems.push(`not committed:\n${left}`);
const most = mostAtOnce();
if (most > 2) problems.push(`${most} runs at once`);

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(
  `${published.length} published, ${tasks.length - published.length} killed, ${bounces} bounced; ` +
    `every sentence has its source; at most ${most} ran at once`,
);

function subjects(beginning) {
  return commits.filter(({ subject }) => subject.startsWith(beginning));
}

/** A claim, then a hand-off by the same agent, then the next claim. */
function claimsOf(slug) {
  const found = [];
  let holder = null;
  for (const { author, subject, files } of commits) {
    if (!files.includes("board.org")) continue;
    const [, what] = /^\w+: (?:bounce )?(.*)$/.exec(subject) ?? [];
    if (what === `claim ${slug}`) {
      if (holder !== null) found.push(`${author} claimed ${slug}, which ${holder} had`);
      holder = author;
    } else if (what?.startsWith(`${slug} — `)) {
      if (holder !== author) found.push(`${author} passed ${slug} on, which ${holder} had`);
      holder = null;
    }
  }
  return found;
}

/** How many ran at the same time, at most, in what the crew said. */
function mostAtOnce() {
  let [now, high] = [0, 0];
  for (const line of readFileSync("crew.log", "utf8").split("\n").filter(Boolean)) {
    const { kind } = JSON.parse(line);
    if (kind === "runs") high = Math.max(high, ++now);
    if (kind === "ran") now--;
  }
  return high;
}

function say(program, ...args) {
  return execFileSync(program, args, { encoding: "utf8" });
}
