import type { OrgDrawer } from "../org/org.ts";
import type { Board, BoardTask } from "./board.ts";

/** What stands under a task's heading, taken apart. */
export interface TaskText {
  /** Under the names as they are written; of two with one name the first, which is what counts. */
  properties: Record<string, string>;
  /** The rest, with the headings below it that are no tasks of their own. */
  body: string;
  /** The lines of its LOGBOOK, the oldest first. */
  log: string[];
}

export function textOf({ org }: Board, { heading }: BoardTask): TaskText {
  const { drawer, logbook, properties, next } = heading;
  const cut = [drawer, logbook].filter((one) => one !== null).sort((a, b) => a.from - b.from);
  let body = "";
  let at = next;
  for (const one of cut) {
    body += org.text.slice(at, one.from);
    at = one.next;
  }
  body += org.text.slice(at, endOf(org, heading));
  return {
    properties: Object.fromEntries(
      new Map([...properties, ...properties.toReversed()].map(({ name, value }) => [name, value])),
    ),
    body: unix(body).replace(/^(?:[ \t]*\n)+|\s+$/g, ""),
    log: logbook === null ? [] : logLines(org.text, logbook),
  };
}

/** Where the next task begins, or the next heading that is not below this one. */
function endOf({ headings, text }: Board["org"], { index, level }: BoardTask["heading"]): number {
  const after = headings
    .slice(index + 1)
    .find((heading) => heading.level <= level || heading.todo !== null);
  return after?.from ?? text.length;
}

/** Each begins with `- `; a line without it goes on with the one before, as Org writes long notes. */
function logLines(text: string, { innerFrom, innerTo }: OrgDrawer): string[] {
  const lines = unix(text.slice(innerFrom, innerTo))
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const entries: string[] = [];
  for (const line of lines) {
    if (line.startsWith("- ") || entries.length === 0) entries.push(line.replace(/^- /, ""));
    else entries.push(`${entries.pop()} ${line}`);
  }
  return entries;
}

function unix(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
