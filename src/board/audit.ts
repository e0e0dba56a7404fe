import { type Board, type BoardTask, claimedState, readBoard, sequenceOf } from "./board.ts";

/**
 * Breaches of the board's protocol, found in the changes of each commit. The actor is known from the
 * trailer `Agent:`, or when the author has the name of an agent: then the rights of a claim's holder
 * are checked too. People may do anything but claim over a claim.
 */
export const BREACHES = [
  "taken_over", // a claim over another's
  "not_claimed", // passed on without a claim
  "not_holder", // passed on, or let go, by another than its holder
  "skipped", // a state was left out, or a claim moved it elsewhere
  "two_claims", // in one commit
  "untyped", // a claim with a subject other than `PREFIX: claim SLUG`
  "foreign_edit", // the text of a task that another agent had
  "merged_claims", // claimed on two branches, of which neither knew of the other
] as const;

export interface Breach {
  code: (typeof BREACHES)[number];
  slug: string;
  /** The actor, if known. */
  agent: string | null;
  message: string;
}

export interface TaskChange {
  before: BoardTask | null;
  after: BoardTask | null;
  isTextChanged: boolean;
}

/** The tasks that differ between two texts; only the part between the common ends is read. */
export function changesBetween(before: string, after: string) {
  const [old, young] = differing(before, after);
  const was = readBoard(old);
  const board = readBoard(young);
  const earlier = bySlug(was);
  const later = bySlug(board);
  const changes: TaskChange[] = [];
  for (const slug of new Set([...earlier.keys(), ...later.keys()])) {
    const [a, b] = [earlier.get(slug) ?? null, later.get(slug) ?? null];
    const isTextChanged = a === null || b === null || textOf(was, a) !== textOf(board, b);
    const isMoved = a?.state !== b?.state || a?.agent !== b?.agent;
    if (isTextChanged || isMoved) changes.push({ before: a, after: b, isTextChanged });
  }
  return { changes, board };
}

/**
 * Both texts without the equal whole tasks at their beginning and end. The text before the first
 * heading stays, for it names the states.
 */
function differing(before: string, after: string): [string, string] {
  const length = Math.min(before.length, after.length);
  let same = 0;
  for (let step = 4096; step > 0; step >>= 1) {
    while (same + step <= length && before.startsWith(after.slice(same, same + step), same)) {
      same += step;
    }
  }
  let tail = 0;
  for (let step = 4096; step > 0; step >>= 1) {
    while (tail + step <= length - same) {
      const [a, b] = [before.length - tail - step, after.length - tail - step];
      if (before.slice(a, a + step) !== after.slice(b, b + step)) break;
      tail += step;
    }
  }
  const firstHeading = /^\*+ /m.exec(after)?.index ?? after.length;
  // One heading further back than necessary: where they differ, a heading may just begin or end.
  const start = Math.max(firstHeading, headingBefore(after, headingBefore(after, same) - 1));
  // Blocks reach over headings' look-alikes and #+TODO: may stand anywhere: then all is read.
  const isPlain = !before.includes("#+", firstHeading) && !after.includes("#+", firstHeading);
  if (!isPlain || same < firstHeading) return [before, after];
  const end = /\n\*+ /.exec(after.slice(after.length - tail))?.index;
  const behind = end === undefined ? 0 : tail - end - 1;
  // A task without a title is named by its line: the lines stay, though nothing stands on them.
  const lines = "\n".repeat(after.slice(firstHeading, start).split("\n").length - 1);
  const cut = (text: string) =>
    text.slice(0, firstHeading) + lines + text.slice(start, text.length - behind);
  return [cut(before), cut(after)];
}

/** Where the last heading before an offset begins; 0 if there is none. */
function headingBefore(text: string, offset: number): number {
  for (let at = offset; at > 0; ) {
    at = text.lastIndexOf("\n*", at - 1);
    if (at === -1) return 0;
    if (/^\*+ /.test(text.slice(at + 1, at + 20))) return at + 1;
  }
  return 0;
}

function bySlug({ tasks }: Board): Map<string, BoardTask> {
  const found = new Map<string, BoardTask>();
  for (const task of tasks) if (!found.has(task.slug)) found.set(task.slug, task);
  return found;
}

function textOf({ org }: Board, { heading }: BoardTask): string {
  return org.text.slice(heading.from, heading.end).trimEnd();
}

/** Null: a person. */
export function actorOf(
  { author, agent }: { author: string; agent: string | null },
  agents: ReadonlySet<string>,
): string | null {
  return agent ?? (agents.has(author) ? author : null);
}

export function breachesIn(
  board: Board,
  changes: readonly TaskChange[],
  commit: { subject: string; actor: string | null },
): Breach[] {
  const { actor } = commit;
  const found = changes.flatMap((change) => breachesOf(board, change, actor));
  const claimed = changes.flatMap((change) =>
    isClaim(change) && change.before && change.after ? [change.after] : [],
  );
  const [first, second] = claimed;
  if (first && second) {
    const slugs = claimed.map(({ slug }) => slug).join(", ");
    const message = `${claimed.length} claims in one commit: ${slugs}`;
    found.push({ code: "two_claims", slug: first.slug, agent: first.agent, message });
  }
  for (const { slug, agent } of claimed) {
    if (isTyped(commit.subject, slug)) continue;
    const message = `${agent} claimed ${slug} in a commit that does not say so: "${commit.subject}"`;
    found.push({ code: "untyped", slug, agent, message });
  }
  return found;
}

export function isClaim({ before, after }: TaskChange): boolean {
  return Boolean(after?.agent) && after?.agent !== before?.agent;
}

function isTyped(subject: string, slug: string): boolean {
  const match = /^[^\s:]+: claim (.+)$/.exec(subject);
  return match !== null && (match[1] === slug || match[1]?.startsWith(`${slug} `) === true);
}

function breachesOf(board: Board, change: TaskChange, actor: string | null): Breach[] {
  const { before, after, isTextChanged } = change;
  if (before === null) return [];
  const { slug, agent: holder } = before;
  const breach = (code: Breach["code"], message: string, agent = actor): Breach[] => [
    { code, slug, agent, message },
  ];
  const isForeign = holder !== null && actor !== null && holder !== actor;
  if (after === null) {
    return isForeign ? breach("foreign_edit", `${actor} removed ${slug}, which ${holder} had`) : [];
  }
  if (holder !== null && after.agent !== null && after.agent !== holder) {
    return breach("taken_over", `${after.agent} claimed ${slug}, which ${holder} had`, after.agent);
  }
  const isMoved = after.state !== before.state;
  if (holder === null && after.agent !== null) {
    if (!isMoved && !before.isDone) return [];
    if (isMoved && after.state === claimedState(board, before.state)) return [];
    const { state } = before;
    const move = isMoved ? `moved it from ${state} to ${after.state}` : `it is ${state}`;
    return breach("skipped", `${after.agent} claimed ${slug} out of turn: ${move}`, after.agent);
  }
  const found: Breach[] = [];
  const way = `${before.state} → ${after.state}`;
  if (isMoved && holder === null && !isDroppedOrReopened(board, before, after)) {
    found.push(...breach("not_claimed", `${slug} went on (${way}) without a claim`));
  }
  if (isForeign && (isMoved || after.agent === null)) {
    const what = isMoved ? `passed on (${way})` : "let go";
    found.push(...breach("not_holder", `${actor} ${what} ${slug}, which ${holder} had`));
  } else if (isForeign && isTextChanged) {
    found.push(...breach("foreign_edit", `${actor} edited ${slug}, which ${holder} had`));
  }
  if (isMoved && isSkip(board, before, after)) {
    found.push(...breach("skipped", `${slug} left out a state: ${way}`, actor ?? holder));
  }
  return found;
}

function isDroppedOrReopened(board: Board, before: BoardTask, after: BoardTask): boolean {
  const { done } = sequenceOf(board, after.state);
  return before.isDone || (after.isDone && after.state !== done[0]);
}

function isSkip(board: Board, before: BoardTask, after: BoardTask): boolean {
  const { open, done } = sequenceOf(board, after.state);
  const way = [...open, ...done.slice(0, 1)];
  const [from, to] = [way.indexOf(before.state), way.indexOf(after.state)];
  return from !== -1 && to > from + 1;
}

/**
 * What a merge changed itself: the tasks whose state and holder together are those of no parent, and
 * those that all parents have and it lacks. The text may be joined from several. `before` is of the
 * parent from which the protocol allows the change, else with the same holder, else with any; for a
 * claim no parent's claim is passed over.
 */
export function changesOfMerge(parents: readonly string[], merged: string, actor: string | null) {
  const board = readBoard(merged);
  const later = bySlug(board);
  const earlier = parents.map((text) => bySlug(readBoard(text)));
  const slugs = new Set([...later.keys(), ...(earlier[0]?.keys() ?? [])]);
  const changes = [...slugs].flatMap((slug): TaskChange[] => {
    const after = later.get(slug) ?? null;
    const all = earlier.map((tasks) => tasks.get(slug) ?? null);
    const isOld = all.some((one) => one?.state === after?.state && one?.agent === after?.agent);
    if (isOld) return [];
    const befores = all.filter((one) => one !== null);
    const toAfter = (before: BoardTask): TaskChange => ({ before, after, isTextChanged: false });
    const same = befores.find(({ agent }) => agent === (after?.agent ?? null));
    const held = befores.find(({ agent }) => agent !== null);
    const isNewClaim = Boolean(after?.agent) && same === undefined;
    const allowed = isNewClaim
      ? undefined
      : befores.find((before) => breachesOf(board, toAfter(before), actor).length === 0);
    const before = allowed ?? same ?? held ?? befores[0] ?? null;
    return [{ before, after, isTextChanged: false }];
  });
  return { changes, board };
}
