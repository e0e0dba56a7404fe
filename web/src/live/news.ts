import { signal } from "@preact/signals";
import type { Tone } from "../parts/glyph.tsx";
import { apiPath, get } from "./api.ts";
import { type LedgerLine, onEvent } from "./events.ts";

/** What happened lately and is worth a look: proven, landed, killed, recovered, asked, failed. */
export interface News {
  key: string;
  at: string;
  kind: string;
  tone: Tone;
  text: string;
  task: string | null;
  /** The view that shows more, where it is not the task. */
  view: string | null;
}

const KEPT = 60;
/** Of a kind, so many at a time: proven tasks do not push a kill out of sight. */
const MOST_OF_KIND = 2;

export const news = signal<readonly News[]>([]);

export function followNews(): void {
  onEvent((event) => {
    if (event.kind === "ledger") add([[event.data, event.id]]);
  });
}

/** What happened before the page was opened. */
export async function readPastNews(): Promise<void> {
  try {
    const path = apiPath("ledger show", { events: EVENTS.join(","), limit: KEPT });
    const { lines } = await get<{ lines: LedgerLine[] }>(path);
    add(lines.map((line, n) => [line, `past ${line.at} ${n}`]));
  } catch {
    // What comes is listed all the same.
  }
}

function add(lines: readonly [LedgerLine, string][]): void {
  const isKnown = new Set(news.value.map(identity));
  const found = lines.flatMap(([line, key]) => reader.read(line, key) ?? []);
  const fresh = found.filter((one) => !isKnown.has(identity(one))).reverse();
  if (fresh.length === 0) return;
  const all = [...fresh, ...news.value].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  news.value = all.slice(0, KEPT);
}

const identity = ({ at, kind, task, text }: News) => JSON.stringify([at, kind, task, text]);

/** The newest, of each kind only a few; more where there is room. */
export function pickNews(all: readonly News[], most: number): News[] {
  const seen = new Map<string, number>();
  const isOneOfFew = ({ kind }: News) => {
    const n = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, n);
    return n <= MOST_OF_KIND;
  };
  const byWorth = [...new Set([...all.filter(isOneOfFew), ...all])];
  const picked = byWorth.slice(0, most);
  return all.filter((one) => picked.includes(one));
}

type Told = Omit<News, "key" | "at" | "task"> & { task?: null };

/** Lines of the ledger into news. It remembers whose worker was lost, to tell a recovery. */
export class NewsReader {
  #lost = new Set<string>();

  read(line: LedgerLine, key: string): News | null {
    const told = line.room === "warden" ? ofWarden(line) : this.#ofQueue(line);
    if (told === null) return null;
    return { task: line.task ?? null, at: line.at ?? "", key, ...told };
  }

  #ofQueue(line: LedgerLine): Told | null {
    const { event, task = "", worker = "", outcome, to, target } = line;
    if (line.room === "fleet" && event === "part_ended") {
      return {
        kind: "part",
        tone: "review",
        text: `${line.part} ended; it is started again`,
        view: "fleet",
      };
    }
    if (line.room === "crew" && event === "parked") {
      return { kind: "parked", tone: "review", text: `${line.agent} is parked`, view: "fleet" };
    }
    if (line.room !== undefined && line.room !== "queue") return null;
    if (event === "landed") {
      return {
        kind: "landed",
        tone: "done",
        text: `landed in ${target ?? "its target"}`,
        view: null,
      };
    }
    if (event === "conflict" || event === "merge_red" || event === "needs_you") {
      return { kind: "stuck", tone: "review", text: "could not land", view: null };
    }
    if (event !== "ended") return null;
    if (outcome === "abandoned") {
      this.#lost.add(task);
      return { kind: "lost", tone: "failed", text: `went back: ${worker} is gone`, view: null };
    }
    if (outcome === "done") {
      const isRecovery = this.#lost.delete(task);
      const proven = line.proof === "passed" ? "proven" : "";
      const word = to === "review" ? `went to review, ${proven || "not proven"}` : proven || "done";
      if (isRecovery) {
        return {
          kind: "recovered",
          tone: "done",
          text: `recovered by ${worker}, and ${word}`,
          view: null,
        };
      }
      const tone = to === "review" ? "review" : "done";
      return { kind: "proven", tone, text: word, view: null };
    }
    return to === "failed" ? { kind: "failed", tone: "failed", text: "failed", view: null } : null;
  }
}

const reader = new NewsReader();

const VERDICTS: Record<string, [Tone, string]> = {
  asked: ["review", "is asked whether it lives"],
  pardoned: ["done", "answered, and goes on"],
  executed: ["failed", "did not answer, and was ended"],
  already_dead: ["none", "had ended by itself"],
};

/** Those that can be news. */
const EVENTS = [
  ...["landed", "conflict", "merge_red", "needs_you", "ended", "parked", "part_ended"],
  ...Object.keys(VERDICTS),
];

function ofWarden({ event, target }: LedgerLine): Told | null {
  const verdict = VERDICTS[event];
  if (verdict === undefined || typeof target !== "string") return null;
  const [tone, words] = verdict;
  return { kind: event, tone, text: `${target} ${words}`, view: "warden", task: null };
}
