/** What keeper, planner and helper have in common. They work in the pit: it is their folder. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

export function viv(...args) {
  return JSON.parse(execFileSync("viv", [...args, "--json"], { encoding: "utf8" }));
}

/** Every food that ever came into the pit. The ledger only grows, so that nothing is missed while it moves. */
export function everyFood() {
  const lines = readdirSync("record/ledger")
    .flatMap((name) => readFileSync(`record/ledger/${name}`, "utf8").split("\n"))
    .filter((line) => line.includes('"enqueued"') && line.endsWith("}"));
  return lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "enqueued");
}

/** Tosses it, unless that was done before; its name in the pit, which begins with a number and the task. */
export function toss({ name, task, flags }, ...more) {
  const its = new RegExp(`^food-\\d+-${name}-`);
  const before = everyFood().find(({ task: id }) => its.test(id));
  return before?.task ?? viv("pit", "toss", ".", task, ...flags, ...more).id;
}

export function isDone(id) {
  return existsSync(`done/${id}.md`);
}
