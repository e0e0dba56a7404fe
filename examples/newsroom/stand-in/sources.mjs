/** What a skeleton says, and what is wrong with a story. The editor uses it, and so does check.mjs. */
import { readFileSync } from "node:fs";

/** Facts by their id, and gaps. */
export function skeletonOf(slug) {
  const text = readFileSync(`content/research/${slug}.org`, "utf8");
  const facts = new Map();
  for (const [, id, says, source] of text.matchAll(/^- (F\d+) :: (.*) \((\S+:\d+)\)$/gm)) {
    facts.set(id, { says, source });
  }
  const [, below = ""] = text.split(/^\* gaps$/m);
  const gaps = [...below.matchAll(/^- (.+)$/gm)].map(([, gap]) => gap);
  return { facts, gaps };
}

/** Every reason not to publish it. */
export function problemsOf(slug) {
  const { facts } = skeletonOf(slug);
  const sentences = readFileSync(`content/stories/${slug}.md`, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (sentences.length === 0) return ["there is nothing in it"];
  return sentences.flatMap((sentence) => {
    const ids = [...sentence.matchAll(/\[(F\d+)\]/g)].map(([, id]) => id);
    if (ids.length === 0) return [`no source for "${sentence}"`];
    return ids.flatMap((id) => {
      const fact = facts.get(id);
      if (fact === undefined) return [`${id} is not in the skeleton`];
      return lineAt(fact.source) === fact.says ? [] : [`${id} is not what ${fact.source} says`];
    });
  });
}

function lineAt(source) {
  const [, file, line] = /^(archive\/[\w.-]+):(\d+)$/.exec(source) ?? [];
  if (file === undefined) return null;
  try {
    return readFileSync(file, "utf8").split("\n")[line - 1];
  } catch {
    return null; // a source that is not there says nothing
  }
}
