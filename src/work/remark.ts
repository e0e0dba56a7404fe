/**
 * What a worker's heartbeats say of its viv.toml, so that others can read it: a bad edit, and routes that
 * would fail every task. It stands before the tasks at hand, because long notes are cut.
 */
const BAD_EDIT = "the last good viv.toml counts: ";
const AT_HAND = " · at hand: ";
const BETWEEN = "; also ";

export function badEdit(problem: string): string {
  return `${BAD_EDIT}${problem.split("\n")[0]}`;
}

export function heldRoute(type: string, problem: string): string {
  return `${headOf(type)}${problem}`;
}

const headOf = (type: string) => `[handlers.${type}] is held back: `;

export function remarkOf(parts: readonly string[]): string {
  return parts.join(BETWEEN);
}

/** Without a remark the note is the tasks alone, as swarm-lib writes it. */
export function heartbeatNote(remark: string, tasks: string): string {
  return remark === "" || tasks === "" ? remark || tasks : `${remark}${AT_HAND}${tasks}`;
}

/** Null: it says nothing of viv.toml. */
export function remarkIn(note: string): string | null {
  const [said = ""] = note.split(AT_HAND);
  return said.startsWith(BAD_EDIT) || /^\[handlers\.[^\]]+\] is held back: /.test(said)
    ? said
    : null;
}

/** Of a worker that holds nothing: its note without the tasks, which its last heartbeat still names. */
export function withoutTasks(note: string, isTask: (word: string) => boolean): string {
  const [said = ""] = note.split(AT_HAND);
  return said.split(" ").every(isTask) ? "" : said;
}

/** Why this route is held back, by a worker's note; null: it is not. */
export function holdIn(note: string, route: string): string | null {
  const parts = remarkIn(note)?.split(BETWEEN) ?? [];
  return parts.find((part) => part.startsWith(headOf(route))) ?? null;
}

/** The routes that a worker holds back, and why, by its note; null: none. */
export function holdsIn(note: string): string | null {
  const parts = remarkIn(note)?.split(BETWEEN) ?? [];
  const holds = parts.filter((part) => !part.startsWith(BAD_EDIT));
  return holds.length === 0 ? null : holds.join(BETWEEN);
}
