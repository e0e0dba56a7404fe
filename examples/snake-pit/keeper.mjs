#!/usr/bin/env node
/** The keeper's round, once a second: toss the menu when all are there, and see whether all is eaten. */
import { writeFileSync } from "node:fs";
import { MENU } from "./menu.mjs";
import { everyFood, isDone, toss, viv } from "./pit.mjs";

const { agents } = viv("status", "--config", "../agents.toml");
const late = agents.filter(({ state }) => state === "starting").map(({ name }) => name);
if (late.length > 0) {
  console.log(`waits for ${late.join(", ")}`);
  process.exit(0);
}

for (const food of MENU) toss(food, "--by", "keeper");

const left = everyFood().filter(({ task }) => !isDone(task));
if (left.length === 0) writeFileSync("scraps/all-eaten", "");
else console.log(`${left.length} left: ${left.map(({ task }) => task).join(" ")}`);
