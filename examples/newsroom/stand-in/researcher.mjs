#!/usr/bin/env node
/** moss: what the archive says about a lead, and what it does not say. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { board, commit, noWork, readBrief, takeNext, textOf } from "./agent.mjs";

readBrief("researcher.org");
const story = takeNext("ASSIGNED");
if (story === null) noWork("nothing is ASSIGNED");
const { slug } = story;
const text = textOf(story);
const lead = /^lead: (.+)$/m.exec(text)?.[1] ?? slug;
const asked = /^ask: (.+)$/m.exec(text)?.[1].split(", ") ?? [];
console.log(`looking for "${lead}" in the archive`);

const facts = readdirSync("archive").sort().flatMap(factsIn);
if (facts.length === 0) {
  board("advance", slug, "--to", "KILLED", "--role", "research", "--note", "no source, no story");
  console.log(`${slug}: no source, no story`);
  process.exit(0);
}
const sources = [...new Set(facts.map(({ source }) => source.split(":")[0]))];
const gaps = asked.filter((word) => !facts.some(({ says }) => says.includes(word)));
const file = `content/research/${slug}.org`;
mkdirSync("content/research", { recursive: true });
writeFileSync(file, skeleton());
commit(file, `research: skeleton of ${slug}`);
const counts = `${facts.length} facts, sources: ${sources.length}`;
const sum = `${counts}, gaps: ${gaps.join(", ") || "none"}`;
board("advance", slug, "--note", sum);
console.log(`${slug}: ${sum}`);

function factsIn(name) {
  const lines = readFileSync(`archive/${name}`, "utf8").split("\n");
  return lines.flatMap((says, index) =>
    says.includes(lead) ? [{ says, source: `archive/${name}:${index + 1}` }] : [],
  );
}

function skeleton() {
  const numbered = facts.map(({ says, source }, index) => `- F${index + 1} :: ${says} (${source})`);
  const parts = [
    ...[`#+TITLE: ${story.title}`, "", "* facts", ...numbered],
    ...["* sources", ...sources.map((source) => `- ${source}`)],
    ...["* gaps", ...(gaps.length === 0 ? ["none"] : gaps.map((gap) => `- ${gap}`))],
  ];
  return `${parts.join("\n")}\n`;
}
