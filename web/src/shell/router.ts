import { computed, signal } from "@preact/signals";

/**
 * The address: `#/VIEW`, or `#/task/ID` for a task as a whole page, then `?` and what the view keeps
 * there (filters, the open task as `task=ID`). Back and forward work because it is the only place.
 */
export interface Route {
  view: string;
  /** Of `#/task/ID`. */
  id: string | null;
  params: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#\/?/, ""));
  const [view = "", ...rest] = path.split("/");
  const id = rest.length === 0 ? null : decode(rest.join("/"));
  return { view: decode(view) || "overview", id, params: new URLSearchParams(query) };
}

export function routeHref(view: string, params: Params = {}, id?: string): string {
  const words = withParams(new URLSearchParams(), params).toString();
  const path = id === undefined ? view : `${view}/${encodeURIComponent(id)}`;
  return `#/${path}${words === "" ? "" : `?${words}`}`;
}

type Params = Record<string, string | null | undefined>;

/** An address typed as a path, `/board?filter=x`, as the page has it; null: it is the page's own. */
export function typedAddress({ pathname, search, hash }: Location): string | null {
  const path = pathname.replace(/^\/+|\/+$/g, "");
  if (path === "") return null;
  return hash !== "" || path === "index.html" ? `/${hash}` : `/#/${path}${search}`;
}

const typed = typedAddress(location);
if (typed !== null) history.replaceState(null, "", typed);
const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed(() => parseRoute(hash.value));
export const view = computed(() => route.value.view);
/** The task in the drawer, or of the whole page. */
export const openTask = computed(() => {
  const { view, id, params } = route.value;
  return view === "task" ? id : params.get("task");
});

/** A parameter of the address, as a string; empty when it is not there. */
export function param(name: string): string {
  return route.value.params.get(name) ?? "";
}

/** Goes to another view: a new entry in the history. */
export function go(href: string): void {
  if (href === location.hash) return;
  history.pushState(null, "", href);
  hash.value = location.hash;
}

/**
 * Changes parameters of this view, null removes one. Typing into a filter replaces the entry in the
 * history; opening a task adds one.
 */
export function setParams(params: Params, how: "push" | "replace" = "replace"): void {
  const href = hrefWith(params);
  if (href === location.hash) return;
  if (how === "push") history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  hash.value = location.hash;
}

/** This address with other parameters. */
export function hrefWith(params: Params): string {
  const { view, id, params: given } = route.value;
  const words = withParams(new URLSearchParams(given), params).toString();
  const path = id === null ? view : `${view}/${encodeURIComponent(id)}`;
  return `#/${path}${words === "" ? "" : `?${words}`}`;
}

/** Where a link to a task leads: into the drawer of this view, or to another whole page. */
export function taskHref(id: string): string {
  return route.value.view === "task" ? routeHref("task", {}, id) : hrefWith({ task: id });
}

export function showTask(id: string): void {
  const isOpen = openTask.value !== null && route.value.view !== "task";
  // Going from task to task in the drawer is one step back, not twenty.
  if (isOpen) setParams({ task: id });
  else go(taskHref(id));
}

export function closeTask(): void {
  if (route.value.view === "task") go(routeHref("board"));
  else setParams({ task: null }, "push");
}

function withParams(words: URLSearchParams, params: Params): URLSearchParams {
  for (const [key, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "") words.delete(key);
    else words.set(key, value);
  }
  return words;
}

function split(text: string): [string, string] {
  const at = text.indexOf("?");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in a typed address
  }
}
