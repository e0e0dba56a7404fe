import { signal } from "@preact/signals";
import { growingPause, withJitter } from "../../../src/base/growing-pause.ts";

/**
 * The one stream of events that all views share. It names the last event that it has seen when it
 * connects again, so that none is missed; `generation` grows when what is shown must be read anew.
 *
 * - `connecting`: before the first answer
 * - `live`: events come
 * - `lost`: no connection since `at`; the next try is at `retryAt`
 * - `resting`: the page has been hidden for a while, and gave its connection back
 */
export interface Connection {
  state: "connecting" | "live" | "lost" | "resting";
  /** Of this browser's clock: since when it is in this state. */
  at: number;
  retryAt: number;
  /** What the server's clock is ahead of this one's, in ms. */
  skew: number;
}

export interface Counts {
  waiting: number;
  pending: number;
  claimed: number;
  review: number;
  done: number;
  failed: number;
  cancelled: number;
  quarantined: number;
}

/** A line of the ledger; more keys by its `event`. */
export interface LedgerLine {
  event: string;
  room?: string;
  at?: string;
  task?: string;
  type?: string;
  worker?: string;
  agent?: string;
  [key: string]: unknown;
}

/** A task's file has moved. `from` null: it is new; `to` null: it is gone. */
export interface TaskMove {
  id: string;
  from: string | null;
  to: string | null;
  worker?: string;
  at: string;
}

export type LiveEvent =
  | { kind: "ledger"; data: LedgerLine; id: string }
  | { kind: "task"; data: TaskMove }
  | { kind: "counts"; data: { counts: Counts } }
  | { kind: "hello"; data: { counts: Counts; at: string } }
  | { kind: "reset"; data: unknown }
  | { kind: "beat"; data: unknown };

export type EventKind = LiveEvent["kind"];

const KINDS: readonly EventKind[] = ["hello", "ledger", "task", "counts", "reset", "beat"];
const PAUSES = { first: 500, longest: 15_000 };
/** The server sends a beat every 15 s; a connection can end without an error, and a server can hang. */
const SILENT_MS = 40_000;
const LOOK_MS = 5_000;
/** Browsers allow six connections to a server, so a tab that is not seen gives its own back. */
const REST_AFTER_MS = 60_000;

export const connection = signal<Connection>({
  state: "connecting",
  at: Date.now(),
  retryAt: 0,
  skew: 0,
});
/** By state; null before the first answer. */
export const counts = signal<Counts | null>(null);
/** Grows when events were lost or a connection came back: resources read again what is shown. */
export const generation = signal(0);

type Listener = (event: LiveEvent) => void;
const listeners = new Set<Listener>();

/** Calls `listener` with every event until the returned function is called. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let source: EventSource | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let rest: ReturnType<typeof setTimeout> | undefined;
let lastId = "";
let tries = 0;
let hasBeenLive = false;
let heardAt = 0;

export function connect(): void {
  document.addEventListener("visibilitychange", onVisible);
  addEventListener("online", () => connection.value.state !== "resting" && tryNow());
  addEventListener("offline", () => connection.value.state !== "resting" && lose());
  setInterval(() => {
    if (source !== null && Date.now() - heardAt > SILENT_MS) lose(heardAt);
  }, LOOK_MS);
  open();
}

/** For the button of the banner. */
export function tryNow(): void {
  if (connection.value.state === "live") return;
  tries = 0;
  open();
}

function open(): void {
  clearTimeout(timer);
  source?.close();
  const from = lastId === "" ? "" : `?from=${encodeURIComponent(lastId)}`;
  const stream = new EventSource(`/events${from}`);
  source = stream;
  heardAt = Date.now();
  for (const kind of KINDS) {
    stream.addEventListener(kind, (message: MessageEvent<string>) => {
      if (stream === source) receive(kind, message);
    });
  }
  // A browser would retry at a fixed pace, and not at all after some answers: we do it ourselves.
  stream.onerror = () => {
    if (stream === source) lose();
  };
}

function receive(kind: EventKind, { data: text, lastEventId }: MessageEvent<string>): void {
  heardAt = Date.now();
  const data = parse(text);
  if (lastEventId !== "") lastId = lastEventId;
  if (kind === "hello") live(data as { counts?: Counts; at?: string });
  if (kind === "reset") generation.value++;
  if (kind === "hello" || kind === "counts") {
    const given = (data as { counts?: Counts } | null)?.counts;
    if (given) counts.value = given;
  }
  const event = { kind, data: data ?? {}, id: lastEventId } as unknown as LiveEvent;
  for (const listener of listeners) listener(event);
}

function live({ at }: { at?: string }): void {
  tries = 0;
  const server = Date.parse(at ?? "");
  const skew = Number.isNaN(server) ? 0 : server - Date.now();
  // A second or two is the way here, and not a wrong clock.
  connection.value = {
    state: "live",
    at: Date.now(),
    retryAt: 0,
    skew: Math.abs(skew) < 2_000 ? 0 : skew,
  };
  if (hasBeenLive) generation.value++;
  hasBeenLive = true;
}

function lose(from = Date.now()): void {
  source?.close();
  source = null;
  clearTimeout(timer);
  tries++;
  const pause = withJitter(growingPause(tries, PAUSES), Math.random());
  const { state, at, skew } = connection.value;
  const since = state === "lost" ? at : from;
  connection.value = { state: "lost", at: since, retryAt: Date.now() + pause, skew };
  timer = setTimeout(open, pause);
}

function onVisible(): void {
  clearTimeout(rest);
  if (document.hidden) rest = setTimeout(pauseStream, REST_AFTER_MS);
  else if (connection.value.state === "resting" || connection.value.state === "lost") tryNow();
}

function pauseStream(): void {
  source?.close();
  source = null;
  clearTimeout(timer);
  connection.value = { ...connection.value, state: "resting", at: Date.now() };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a line that is no JSON says nothing to a view
  }
}
