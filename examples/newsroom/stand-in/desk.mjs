#!/usr/bin/env node
/** desk: a lead becomes a task. */
import { readFileSync } from "node:fs";
import { board, noWork, readBrief } from "./agent.mjs";

const MOST_OPEN = 6;

readBrief("desk.org");
const { tasks } = board("ls");
const known = new Set(tasks.map(({ title }) => title));
const open = tasks.filter(({ state }) => state !== "PUBLISHED" && state !== "KILLED");
const leads = readFileSync("leads.org", "utf8").split(/^\* /m).slice(1).map(leadIn);
const fresh = leads.filter(({ title }) => !known.has(title)).slice(0, MOST_OPEN - open.length);
if (fresh.length === 0) noWork("every lead is on the board, or the board is full");
for (const { title, about, ask } of fresh) {
  const { slug } = board("open", title, "--note", `lead: ${about}\nask: ${ask}`);
  console.log(`opened ${slug}`);
}

function leadIn(text) {
  const value = (name) => new RegExp(`^:${name}: *(.*)$`, "m").exec(text)?.[1] ?? "";
  return { title: text.split("\n")[0].trim(), about: value("ABOUT"), ask: value("ASK") };
}
