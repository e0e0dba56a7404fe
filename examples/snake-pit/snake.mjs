#!/usr/bin/env node
/**
 * A snake that needs no model: what it knows is in repertoire/. It works in the pit and gets its food
 * as JSON. What it writes is real, and so is the proof.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { viv } from "./pit.mjs";

const { VIV_TASK_ID: food, VIV_WORKER_ID: me, VIV_EVIDENCE, VIV_NOTE, VIV_RESULT } = process.env;
const { payload } = JSON.parse(readFileSync(0, "utf8"));
const [, name] = /scraps\/([\w-]+)\.mjs/.exec(payload.task) ?? [];
if (VIV_NOTE) console.log(`I was told: ${VIV_NOTE}`);

if (name === "primes") await bite();
const draft = chooseDraft();
copyFileSync(draft, `scraps/${name}.mjs`);
writeFileSync(`scraps/${name}.test.mjs`, testOf(payload.task));
console.log(`wrote scraps/${name}.mjs and its test`);
writeFileSync(VIV_RESULT, `${name} is in scraps/${name}.mjs, its test beside it.\n`);

/** The first idea, until something says that it is wrong. */
function chooseDraft() {
  const better = new URL(`repertoire/${name}.mjs`, import.meta.url);
  const first = new URL(`repertoire/${name}.first.mjs`, import.meta.url);
  if (!existsSync(better)) {
    console.log(`I do not know ${name}`);
    process.exit(1);
  }
  if (!existsSync(first)) return better;
  const reason = name === "roman" ? chokeNote() : failedExample();
  if (reason === undefined) return first;
  console.log(`another way, because of ${reason}`);
  return better;
}

/** Of the attempt before, as its proof has it. */
function failedExample() {
  if (!VIV_EVIDENCE) return undefined;
  const [, example] =
    /^\s*(?:not ok \d+ -|✖) (\w+\(.*)/m.exec(readFileSync(VIV_EVIDENCE, "utf8")) ?? [];
  return example;
}

function chokeNote() {
  return readdirSync("scraps").find((file) => file.startsWith(`choke-${food}-`));
}

/** The food's examples, one test each. */
function testOf(task) {
  const examples = [...task.matchAll(/^(\w+\(.*\)) is (.*)$/gm)];
  return [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    `import * as it from "./${name}.mjs";`,
    "",
    ...examples.map(
      ([example, call, value]) =>
        `test(${JSON.stringify(example)}, () => assert.deepEqual(it.${call}, ${value}));`,
    ),
    "",
  ].join("\n");
}

/** Whoever is first leaves half a file, kills its worker, and would chew on for ever. */
async function bite() {
  try {
    writeFileSync("scraps/bitten", me, { flag: "wx" });
  } catch {
    if (readFileSync("scraps/bitten", "utf8") !== me) return;
    console.log("I have died of this once; let somebody else try");
    process.exit(1);
  }
  writeFileSync(`scraps/${name}.mjs`, "export function primes(n) {\n");
  writeFileSync("scraps/chewing-pid", String(process.pid));
  console.log("this tastes bitter");
  const worker = viv("status", "--config", "../agents.toml").agents.find((one) => one.name === me);
  if (worker?.pid === process.ppid) process.kill(worker.pid, "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, 600_000));
}
