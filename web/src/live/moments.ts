import { effect, signal } from "@preact/signals";
import { apiPath, get } from "./api.ts";
import { type LedgerLine, onEvent } from "./events.ts";
import { session } from "./session.ts";

/** What the demo points at, as docs/spec/demo.md has it. Only a demo writes such lines. */
export interface Moment {
  n: number;
  key: string;
  text: string;
  /** A view, `fleet`, or a task, `task/ID`; null: it is nowhere in particular. */
  link: string | null;
  command: string | null;
}

/** In the order in which they happened. */
export const moments = signal<readonly Moment[]>([]);

const ROOM = "demo";
/** The folder of a demo: elsewhere nothing is asked, as it reads the whole ledger. */
const DEMO = /\/viv-fleet-demo-[^/]+\//;

export function followMoments(): void {
  onEvent((event) => {
    if (event.kind === "ledger") add([event.data]);
  });
  // A page that is opened, or connected again, in the middle of a demo.
  effect(() => {
    if (DEMO.test(session.value?.run_dir ?? "")) void readPast();
  });
}

async function readPast(): Promise<void> {
  try {
    const path = apiPath("ledger show", { rooms: ROOM });
    add((await get<{ lines: LedgerLine[] }>(path)).lines);
  } catch {
    // The next moment comes with the events.
  }
}

function add(lines: readonly LedgerLine[]): void {
  const known = new Set(moments.value.map(({ n }) => n));
  const found = lines.map(momentOf).filter((one) => one !== null && !known.has(one.n)) as Moment[];
  if (found.length === 0) return;
  moments.value = [...moments.value, ...found].sort((a, b) => a.n - b.n);
}

export function momentOf({ room, event, n, key, text, link, command }: LedgerLine): Moment | null {
  if (room !== ROOM || event !== "moment") return null;
  if (typeof n !== "number" || typeof text !== "string") return null;
  return {
    ...{ n, text, key: typeof key === "string" ? key : "" },
    link: typeof link === "string" && /^[a-z]+(\/[^/?#]+)?$/.test(link) ? link : null,
    command: typeof command === "string" ? command : null,
  };
}
