import { FORGES, type ForgeName, type Place } from "./forge.ts";

/** Hosts that ssh has under another name than the web. */
const SSH_HOSTS: Record<string, string> = {
  "ssh.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
};

const URL_FORM = /^(?:https?|ssh|git|git\+ssh):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]+)(:\d+)?\/(.+)$/i;
/** `git@host:path`, where a path has no colon before its first slash. */
const SCP_FORM = /^(?:[^/@:]+@)?([^/:@]+):(?!\/\/)(.+)$/;

/** Where the URL of a remote leads; null for a path of this machine. Logins in it are left out. */
export function placeOfUrl(url: string): Place | null {
  const [, urlHost, port, urlPath] = URL_FORM.exec(url) ?? [];
  const [, scpHost, scpPath] = urlHost === undefined ? (SCP_FORM.exec(url) ?? []) : [];
  const path = (urlPath ?? scpPath ?? "").replace(/^\/+|\/+$|(?:\.git)?\/*$/g, "");
  const name = (urlHost ?? scpHost)?.toLowerCase();
  if (name === undefined || !isRepository(path)) return null;
  // Only the web's port is part of the forge's name.
  const isWeb = /^https?:/i.test(url);
  const host = SSH_HOSTS[name] ?? (isWeb && port ? `${name}${port}` : name);
  return { host: host.includes(".") || isWeb ? host : null, path };
}

/** `owner/name`, `group/subgroup/name`, with a host before it if its first part has a dot or a port. */
export function placeOfName(text: string): Place | null {
  if (/:\/\/|@/.test(text)) return placeOfUrl(text);
  const [first = "", ...rest] = text.split("/");
  const hasHost =
    rest.length >= 2 && /^[\w-]+(\.[\w-]+)*(:\d+)?$/.test(first) && /[.:]/.test(first);
  const path = hasHost ? rest.join("/") : text;
  return isRepository(path) ? { host: hasHost ? first.toLowerCase() : null, path } : null;
}

function isRepository(path: string): boolean {
  const parts = path.split("/");
  return parts.length >= 2 && parts.every((part) => /^[\w.~-]+$/.test(part) && !/^\.+$/.test(part));
}

export function nameOfPlace({ host, path }: Place): string {
  return host === null ? path : `${host}/${path}`;
}

/**
 * The program for a repository: the one that is set, else by the host's name, else the one that is
 * installed. Null: none is set, known or installed.
 */
export function chooseForge(
  wanted: ForgeName | undefined,
  place: Place | null,
  isInstalled: (name: ForgeName) => boolean,
): ForgeName | null {
  if (wanted !== undefined) return wanted;
  const host = place?.host ?? "";
  if (/(^|\.)github\b/.test(host)) return "gh";
  if (/(^|\.)gitlab\b/.test(host)) return "glab";
  return FORGES.find(isInstalled) ?? null;
}
