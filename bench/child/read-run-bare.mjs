// Reads what a report of a run reads, and does nothing with it: each task that is done or failed, its proof, and
// each line of the ledger. `node read-run-bare.mjs RUN`

import { readdirSync, readFileSync } from "node:fs";

const [run] = process.argv.slice(2);
let read = 0;
for (const state of ["done", "failed"]) {
  for (const name of readdirSync(`${run}/${state}`)) {
    JSON.parse(readFileSync(`${run}/${state}/${name}`, "utf8"));
    read++;
  }
}
for (const name of readdirSync(`${run}/artifacts`)) {
  JSON.parse(readFileSync(`${run}/artifacts/${name}`, "utf8"));
}
let lines = 0;
for (const name of readdirSync(`${run}/ledger`)) {
  for (const line of readFileSync(`${run}/ledger/${name}`, "utf8").split("\n")) {
    if (line !== "") lines += JSON.parse(line).event === "" ? 0 : 1;
  }
}
console.log(`${read} tasks, ${lines} lines`);
