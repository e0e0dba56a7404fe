#!/usr/bin/env node
/** The keeper's other half: food that got stuck comes here, as food for the keeper. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { MISSING } from "./menu.mjs";
import { isDone, toss, viv } from "./pit.mjs";

const { payload } = JSON.parse(readFileSync(0, "utf8"));
const { proof } = viv("show", payload.food);
console.log(payload.task);

// What the proof said about the last attempt: Cannot find module '/…/scraps/NAME.mjs'
const [, name] = /Cannot find module '[^']*\/([\w-]+)\.mjs'/.exec(proof?.output ?? "") ?? [];
const food = MISSING.find((one) => one.name === name);
if (!food) giveUp(payload.food);
const missing = toss(food);
console.log(`${payload.food} needs ${missing}`);
while (!isDone(missing)) {
  if (existsSync(`resting/stuck/${missing}.md`)) giveUp(missing);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
viv("retry", payload.food, "--by", "keeper", "--note", `${name} is there now: ${missing}`);
writeFileSync(
  process.env.VIV_RESULT,
  `Tossed ${missing}, waited, and sent ${payload.food} round again.\n`,
);

function giveUp(id) {
  writeFileSync("scraps/needs-a-person", `the keeper does not know what to do about ${id}\n`);
  process.exit(1);
}
