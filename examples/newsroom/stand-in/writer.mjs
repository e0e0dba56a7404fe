#!/usr/bin/env node
/**
 * wren: a story, from its skeleton. With one weakness, so that there is something to catch: where the
 * skeleton has a gap, the first draft fills it with a guess. Once it was bounced, it does not.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { board, commit, noWork, readBrief, takeNext, textOf } from "./agent.mjs";
import { skeletonOf } from "./sources.mjs";

readBrief("writer.org");
const story = takeNext("WRITING");
if (story === null) noWork("nothing is WRITING");
const { slug, title } = story;
const { facts, gaps } = skeletonOf(slug);
const bounces = textOf(story).match(/: EDIT → WRITING/g)?.length ?? 0;

const lines = [...facts].map(([id, { says }]) => `${says} [${id}]`);
if (bounces === 0) lines.push(...gaps.map((gap) => `The ${gap} will surely please everybody.`));
const file = `content/stories/${slug}.md`;
mkdirSync("content/stories", { recursive: true });
writeFileSync(file, [`# ${title}`, "", ...lines, ""].join("\n"));
const draft = `draft ${bounces + 1}`;
commit(file, `write: ${draft} of ${slug}`);
board("advance", slug, "--note", `${draft}, ${lines.length} sentences`);
console.log(`${slug}: ${draft}, ${lines.length} sentences`);
