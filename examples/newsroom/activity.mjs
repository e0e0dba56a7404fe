#!/usr/bin/env node
/** GET /_activity of the crew that runs here, as lines. */
import { execFileSync } from "node:child_process";

const ps = execFileSync("viv", ["crew", "ps", "--json"], { encoding: "utf8" });
const { port } = JSON.parse(ps).supervisor;
const answer = await fetch(`http://127.0.0.1:${port}/_activity`);
const { agents, wire } = await answer.json();
for (const { name, running, thought } of agents) {
  console.log(`${name} ${running ? "runs" : "rests"}: ${thought ?? "-"}`);
}
for (const { agent, tool, target } of wire) console.log(`  ${agent} ${tool} ${target}`);
