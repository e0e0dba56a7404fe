#!/usr/bin/env node
/** hale: publishes what its sources say, and sends back what they do not. */
import { board, noWork, readBrief, takeNext } from "./agent.mjs";
import { problemsOf } from "./sources.mjs";

readBrief("editor.org");
const story = takeNext("EDIT");
if (story === null) noWork("nothing is in EDIT");
const { slug } = story;
const problems = problemsOf(slug);
if (problems.length > 0) {
  board("bounce", slug, "--note", problems.join("; "));
  console.log(`${slug} goes back: ${problems.join("; ")}`);
} else {
  board("advance", slug, "--note", "every sentence has a source");
  console.log(`${slug} is published`);
}
