import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ifThere } from "../../base/errno.ts";
import { shown } from "../../base/text.ts";

/** Paths of `copy`, `link` and `setup_key`: below a repository, with `*` and `?` in their names. */

/** Why an entry cannot be used; null when it can. */
export function whyNoPath(entry: string): string | null {
  const parts = entry.split("/");
  if (entry === "" || /[\n\r\0]/.test(entry)) return `${shown(entry)} is not a path`;
  if (entry.startsWith("/") || entry.startsWith("~")) {
    return `${shown(entry)} must be a path below the repository, like "config/local.json"`;
  }
  if (parts.includes("..")) return `${shown(entry)} must not leave the repository`;
  if (parts.some((part) => part.toLowerCase() === ".git")) {
    return `${shown(entry)} must not lead into .git`;
  }
  if (parts.includes("**")) return `${shown(entry)}: ** is not known; * stands for one name`;
  if (parts.every((part) => part === "" || part === ".")) {
    return `${shown(entry)} is the whole repository; name files or folders of it`;
  }
  return null;
}

/** What an entry stands for below `root`, in the order of names. Links are listed, not followed. */
export function pathsFor(root: string, entry: string): string[] {
  let found = [""];
  for (const part of entry.split("/").filter((one) => one !== "" && one !== ".")) {
    found = found.flatMap((folder) =>
      namesFor(join(root, folder), part).map((name) =>
        folder === "" ? name : `${folder}/${name}`,
      ),
    );
  }
  return found;
}

function namesFor(folder: string, part: string): string[] {
  // Not through a link: it may lead out.
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  if (!/[*?]/.test(part)) {
    return lstatSync(join(folder, part), { throwIfNoEntry: false }) ? [part] : [];
  }
  const pattern = patternOf(part);
  const names = ifThere(() => readdirSync(folder)) ?? [];
  return names.filter((name) => pattern.test(name) && name.toLowerCase() !== ".git").sort();
}

/** Does this path match one of the entries? */
export function matches(path: string, entry: string): boolean {
  const parts = entry.split("/").filter((one) => one !== "" && one !== ".");
  const names = path.split("/");
  return (
    parts.length === names.length && parts.every((part, i) => patternOf(part).test(names[i] ?? ""))
  );
}

/** As in a shell, a name with a dot in front is matched only by a pattern with one. */
function patternOf(part: string): RegExp {
  const body = part
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", "[^/]*")
    .replaceAll("?", "[^/]");
  const first = /^[*?]/.test(part) ? "(?!\\.)" : "";
  return new RegExp(`^${first}${body}$`, "s");
}
