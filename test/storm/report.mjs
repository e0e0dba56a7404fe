import { readFileSync } from "node:fs";
import { parseJournal } from "./read-world.mjs";
import { KINDS } from "./referee.mjs";

/** What the user sees: a line while it goes on, the table at the end, and the story of what broke. */

const STORY_LINES = 40;

export function table(crimes) {
  const lines = [];
  for (const [kind, meaning] of Object.entries(KINDS)) {
    const count = crimes.filter((crime) => crime.kind === kind).length;
    lines.push(`  ${kind.padEnd(14)} ${String(count).padStart(6)}   ${meaning}`);
  }
  return lines.join("\n");
}

/** The first of each kind, with everything that is known about its task. */
export function stories(crimes, scene, ledger) {
  const texts = [];
  for (const kind of Object.keys(KINDS)) {
    const [crime, ...more] = crimes.filter((one) => one.kind === kind);
    if (crime === undefined) continue;
    const others = more.slice(0, 9).map(({ id, text }) => `    also ${id}: ${text}`);
    texts.push(
      `${kind}: ${crime.id}: ${crime.text}`,
      ...others,
      ...(more.length > 9 ? [`    and ${more.length - 9} more`] : []),
      ...storyOf(crime.id, scene, ledger).map((line) => `    ${line}`),
      "",
    );
  }
  return texts.join("\n");
}

function storyOf(id, scene, ledger) {
  if (id === "-" || id === undefined) return [];
  const journal = parseJournal(readFileSync(scene.journal, "utf8"));
  const lines = [
    ...ledger.filter(({ task }) => task === id).map((line) => `ledger    ${JSON.stringify(line)}`),
    ...journal
      .filter((entry) => entry.id === id)
      .map((entry) => `journal   ${JSON.stringify(entry)}`),
    ...scene.operations
      .filter((one) => one.id === id || one.enqueued?.includes(id))
      .map(({ enqueued: _, out: __, ...one }) => `operation ${JSON.stringify(one).slice(0, 600)}`),
  ];
  return lines.length > STORY_LINES ? [...lines.slice(0, STORY_LINES), "…"] : lines;
}
