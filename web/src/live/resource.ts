import { type Signal, signal } from "@preact/signals";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { type ApiError, getDated, isAbort } from "./api.ts";
import { type EventKind, generation, type LiveEvent, onEvent } from "./events.ts";

export interface Resource<T> {
  /** The last answer; stays while it is read again, and when that fails. */
  data: T | null;
  error: ApiError | null;
  isLoading: boolean;
  /** Asks at once. */
  refresh: () => void;
}

export interface ResourceOptions {
  /** Kinds of events after which it is read again. Lines of the ledger also by name: `landed`. */
  refreshOn?: readonly (EventKind | (string & {}))[];
  /** Of those events, only the ones that concern it. */
  match?: (event: LiveEvent) => boolean;
  /** At least this long between two reads (default 250 ms); slow answers stretch it. */
  every?: number;
}

interface Entry {
  state: Signal<Omit<Resource<unknown>, "refresh">>;
  users: number;
  abort: AbortController | null;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** When the next read may begin. */
  free: number;
  /** Asked for while a read was under way: at least so long after that one; null when it was not. */
  due: number | null;
  /** When it was last shown: old answers are forgotten. */
  left: number;
}

/** By path, so that views share answers, and a view that is opened again shows the last one at once. */
const entries = new Map<string, Entry>();
const KEPT = 60;
const DEFAULT_EVERY_MS = 250;

/**
 * What a path answers, kept up to date: read when first shown, again after the named events (many
 * at once are one read), and when the connection comes back. `null`: nothing is asked.
 */
export function useResource<T>(path: string | null, options: ResourceOptions = {}): Resource<T> {
  const { refreshOn = [], match, every = DEFAULT_EVERY_MS } = options;
  const kinds = refreshOn.join(",");
  const entry = useMemo(() => (path === null ? null : entryOf(path)), [path]);
  const matches = useMemo(() => ({ now: match }), []);
  matches.now = match;
  // Before the frame is drawn: the server works meanwhile.
  useLayoutEffect(() => {
    if (path === null || entry === null) return;
    const refresh = () => later(path, entry, every);
    entry.users++;
    if (entry.abort === null) void read(path, entry);
    const wanted = kinds === "" ? [] : kinds.split(",");
    const stopEvents = onEvent((event) => {
      // What happened between an answer and the first event is in neither.
      if (event.kind === "hello") return refresh();
      if (!isNamed(event, wanted)) return;
      if (matches.now === undefined || matches.now(event)) refresh();
    });
    let first = true;
    const stopGeneration = generation.subscribe(() => {
      if (!first) refresh();
      first = false;
    });
    return () => {
      stopEvents();
      stopGeneration();
      release(entry);
    };
  }, [path, entry, kinds, every]);
  if (path === null || entry === null) {
    return { data: null, error: null, isLoading: false, refresh: () => {} };
  }
  return {
    ...(entry.state.value as Omit<Resource<T>, "refresh">),
    refresh: () => void read(path, entry),
  };
}

/** Reads again what is shown and whose path begins so: after an action that has no event. */
export function refreshResources(prefix: string): void {
  for (const [path, entry] of entries) {
    if (entry.users > 0 && path.startsWith(prefix)) later(path, entry, 0);
  }
}

function isNamed(event: LiveEvent, kinds: readonly string[]): boolean {
  if (kinds.includes(event.kind)) return true;
  return event.kind === "ledger" && kinds.includes(event.data.event);
}

function entryOf(path: string): Entry {
  let entry = entries.get(path);
  if (entry === undefined) {
    const state = signal({ data: null as unknown, error: null, isLoading: true });
    const rest = { users: 0, abort: null, timer: undefined, free: 0, due: null, left: 0 };
    entry = { state, ...rest };
    entries.set(path, entry);
    forgetOld();
  }
  return entry;
}

function forgetOld(): void {
  if (entries.size <= KEPT) return;
  const unused = [...entries].filter(([, { users }]) => users === 0);
  unused.sort(([, a], [, b]) => a.left - b.left);
  for (const [path] of unused.slice(0, entries.size - KEPT)) entries.delete(path);
}

function release(entry: Entry): void {
  entry.users--;
  entry.left = Date.now();
  if (entry.users > 0) return;
  entry.abort?.abort();
  entry.abort = null;
  clearTimeout(entry.timer);
  entry.timer = undefined;
}

/** One read for many events: not before the pause is over, and never two at a time. */
function later(path: string, entry: Entry, every: number): void {
  if (entry.abort !== null) {
    entry.due = Math.min(entry.due ?? every, every);
    return;
  }
  if (entry.timer !== undefined && every > 0) return;
  clearTimeout(entry.timer);
  const pause = every === 0 ? 0 : Math.max(30, entry.free + every - Date.now());
  entry.timer = setTimeout(() => {
    entry.timer = undefined;
    void read(path, entry);
  }, pause);
}

async function read(path: string, entry: Entry): Promise<void> {
  clearTimeout(entry.timer);
  entry.timer = undefined;
  entry.abort?.abort();
  const abort = new AbortController();
  entry.abort = abort;
  entry.due = null;
  entry.state.value = { ...entry.state.value, isLoading: true };
  const began = Date.now();
  let againIn: number | null = null;
  try {
    const { data, ...dated } = await getDated<unknown>(path, abort.signal);
    if (entry.abort !== abort) return;
    againIn = dated.againIn;
    entry.state.value = { data, error: null, isLoading: false };
  } catch (error) {
    if (isAbort(error) || entry.abort !== abort) return;
    entry.state.value = { ...entry.state.value, error: error as ApiError, isLoading: false };
  }
  entry.abort = null;
  // A server that needs a second for an answer is not asked four times in one.
  entry.free = Date.now() + Math.max(2 * (Date.now() - began), againIn ?? 0);
  const every = entry.due ?? (againIn === null ? null : DEFAULT_EVERY_MS);
  if (every !== null && entry.users > 0) later(path, entry, every);
}
