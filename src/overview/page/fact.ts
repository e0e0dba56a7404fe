import { counted } from "../../base/text.ts";
import type { AccountState } from "../../engines/accounts/account.ts";
import type { Pause, WorkerView } from "../../queue/store.ts";
import type { Entry } from "./entry.ts";
import type { Doing } from "./ledger-facts.ts";

/** What holds tasks back that could be claimed. */
export interface Surroundings {
  now: number;
  paused: Pause | null;
  workers: readonly Pick<
    WorkerView,
    "name" | "alive" | "types" | "process" | "claims" | "paused"
  >[];
  accountOf(type: string): AccountState | null;
  doingOf(id: string): Doing | undefined;
  /** Lines that its branch adds and removes; null while that is not known. */
  changedBy(entry: Entry): { insertions: number; deletions: number } | null;
}

const MOST_NAMES = 3;

/** The one line of a card: why it waits, the step it is at, its change, its failure. */
export function factOf(entry: Entry, around: Surroundings): string | null {
  switch (entry.column) {
    case "waiting":
      return whyWaiting(entry, around.now);
    case "ready":
      return whyReady(entry, around);
    case "working": {
      const doing = around.doingOf(entry.id);
      return doing?.step ?? doing?.thought ?? null;
    }
    case "review": {
      const changed = around.changedBy(entry);
      return changed && `+${changed.insertions} −${changed.deletions}`;
    }
    case "failed":
      return entry.failure;
    default:
      return null;
  }
}

const IN: Record<string, string> = {
  waiting: "waiting",
  ready: "ready",
  working: "working",
  review: "in review",
  failed: "which failed",
};

function whyWaiting({ needs, notBefore, restsUntil, failure }: Entry, now: number): string | null {
  const open = (needs ?? []).filter(({ column }) => column !== "done");
  // That which does not go on by itself.
  const worst =
    open.find(({ column }) => column === "failed") ??
    open.find(({ column }) => column === null) ??
    open[0];
  if (worst !== undefined) {
    const isOne = open.length === 1 || worst.column === "failed" || worst.column === null;
    if (!isOne) return `waits for ${counted(open.length, "task")}`;
    const more = open.length > 1 ? `, and ${open.length - 1} more` : "";
    const where = worst.isCancelled ? "which was cancelled" : IN[worst.column ?? ""];
    return `waits for ${worst.id}, ${where ?? "which is not there"}${more}`;
  }
  if (restsUntil > now) {
    const because = failure === null ? "" : `: ${failure}`;
    return `rests until ${clock(restsUntil, now)}${because}`;
  }
  return notBefore > now ? `not before ${clock(notBefore, now)}` : failure;
}

function whyReady({ type }: Entry, { now, paused, workers, accountOf }: Surroundings) {
  if (paused !== null) return `the run is paused by ${paused.by}`;
  if (type === null) return null;
  const account = accountOf(type);
  if (account?.state === "parked") return `${account.account} is parked`;
  if (account?.state === "closed") {
    return `${account.account} closed until ${clock(Date.parse(account.until), now)}`;
  }
  const takers = workers.filter(
    ({ alive, types, process, claims }) =>
      alive &&
      (process !== "none" || claims.length > 0) &&
      (types === null || types.includes(type)),
  );
  if (takers.length === 0) return "no worker takes it";
  const free = takers.filter(({ paused }) => !paused);
  const [first] = takers;
  if (free.length === 0 && first?.paused) {
    const rest = takers.length > 1 ? ` and ${takers.length - 1} more are` : " is";
    return `${first.name}${rest} paused by ${first.paused.by}`;
  }
  const names = free.slice(0, MOST_NAMES).map(({ name }) => name);
  const more = free.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""} will take it`;
}

/** The machine's own time: `07:51`, with the day unless it is within a day. */
function clock(time: number, now: number): string {
  const at = new Date(time);
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (time - now < 20 * 3_600_000) return hours;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${hours}`;
}
