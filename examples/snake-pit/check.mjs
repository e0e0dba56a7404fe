#!/usr/bin/env node
/** All eaten, all proven? Believes nothing: every done-when is run once more. In the pit. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { everyFood, isDone, viv } from "./pit.mjs";

const problems = [];
const foods = everyFood().map(({ task }) => task);
let proofs = 0;
for (const id of foods) {
  if (!isDone(id)) problems.push(`${id} is not in done/`);
  if (!existsSync(`done/${id}.result.md`)) problems.push(`${id} has no result`);
  const { proof, history } = viv("show", id);
  if (history.length > 1) console.log(`${id}: ${history.map(told).join(", ")}`);
  if (!proof) {
    if (!id.startsWith("keeper-")) problems.push(`${id} was never proven`);
    continue;
  }
  const env = { ...process.env, VIV_RESULT: `done/${id}.result.md` };
  const { status, stdout } = spawnSync("/bin/sh", ["-c", proof.command], { env, encoding: "utf8" });
  if (proof.exit !== 0 || status !== 0)
    problems.push(`${id} is not proven: ${proof.command}\n${stdout}`);
  proofs++;
}
for (const folder of ["food", "claimed", "resting/later", "resting/review", "resting/stuck"])
  for (const name of readdirSync(folder)) problems.push(`${folder}/${name} is left`);

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(`${foods.length} foods eaten; ${proofs} proofs run once more, all of them hold`);

function told({ outcome, worker, retried, by }) {
  return retried ? `sent round again (${by})` : `${outcome} (${worker})`;
}
