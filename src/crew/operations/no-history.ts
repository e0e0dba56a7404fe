import { dirname, join, resolve } from "node:path";
import type { Member } from "../manifest.ts";
import type { CrewPorts } from "./ports.ts";

/**
 * A line for each folder that somebody works in and that is in no git repository. They run all the same: whoever
 * only looks harms nothing, and there are crews without a board. But what is changed there cannot be taken back,
 * and `viv board` refuses such a place.
 */
export function withoutHistory(
  members: readonly Member[],
  folder: string,
  ports: Pick<CrewPorts, "isThere" | "isFolder">,
): string[] {
  const found = new Map<string, string[]>();
  for (const { name, workdir, mode, problem } of members) {
    // The manifest's own folder is nobody's choice, unless they change things there.
    if (problem !== null || (workdir === null && mode === "plan")) continue;
    const place = resolve(folder, workdir ?? ".");
    if (ports.isFolder(place)) found.set(place, [...(found.get(place) ?? []), name]);
  }
  return [...found].flatMap(([place, names]) => {
    if (isInRepository(place, ports)) return [];
    const who = `${names.join(", ")} ${names.length === 1 ? "works" : "work"} in ${place}`;
    const means = "what is changed there cannot be taken back, and viv board does not work";
    return [`${who}, which is not in a git repository: ${means}; to make it one: git init`];
  });
}

function isInRepository(place: string, { isThere }: Pick<CrewPorts, "isThere">): boolean {
  for (let folder = place; ; folder = dirname(folder)) {
    if (isThere(join(folder, ".git"))) return true;
    if (dirname(folder) === folder) return false;
  }
}
