import { timingSafeEqual } from "node:crypto";
import { isLoopback } from "./config.ts";

/**
 * Which requests are answered. Everything here is decided from facts, in this order:
 *
 * 1. The name in `Host` must be ours. A foreign page that points its own name at this machine (DNS
 *    rebinding) is refused.
 * 2. A foreign `Origin` is refused, and a request that a foreign page caused without one (an image, a
 *    script), except for `/_activity` to the origins that viv.toml names.
 * 3. The token may change. The cookie of a login may change from our own page.
 * 4. Others may read, if the connection is one of this user's processes on this machine.
 */

export interface Facts {
  method: string;
  path: string;
  host: string | undefined;
  origin: string | undefined;
  /** Sec-Fetch-Site, -Mode. */
  site: string | undefined;
  mode: string | undefined;
  bearer: "right" | "wrong" | "none";
  hasSession: boolean;
  /** The program at the other end is of this user; unknown: the machine does not say. */
  peer: "ours" | "other" | "unknown";
}

export interface Place {
  bind: string;
  isTls: boolean;
  hosts: readonly string[];
  origins: readonly string[];
}

export type Verdict =
  | { is: "allowed"; mayChange: boolean; hasSession?: true; allowOrigin?: string }
  | { is: "refused"; status: 401 | 403; message: string };

/** Answered without a token everywhere: the first says only that the process serves. */
const OPEN = new Set(["/healthz", "/login"]);

export function judge(facts: Facts, place: Place): Verdict {
  const { path, origin } = facts;
  if (!isOurHost(facts.host, place)) {
    return forbidden(
      `the name ${JSON.stringify(facts.host ?? "")} in Host is not one of this server; add it to hosts in [server] of viv.toml.`,
    );
  }
  const isOwn = origin !== undefined && isOwnOrigin(origin, facts.host ?? "", place);
  const isNamed = origin !== undefined && path === "/_activity" && place.origins.includes(origin);
  if (origin !== undefined && !isOwn && !isNamed) {
    return forbidden("a page of another origin may not use this server.");
  }
  if (origin === undefined && isFromForeignPage(facts)) {
    return forbidden("a page of another site may not load this.");
  }
  if (isNamed && facts.method === "OPTIONS") {
    return { is: "allowed", mayChange: false, allowOrigin: origin };
  }
  if (facts.bearer === "wrong") return refused("the token is not the one of: viv token");
  const named = isNamed ? { allowOrigin: origin } : {};
  if (facts.bearer === "right") return { is: "allowed", mayChange: true, ...named };
  const isHere = isLoopback(place.bind);
  // A cookie goes to every port of a host: another user's server may have seen it.
  if (facts.hasSession && !(isHere && facts.peer === "other")) {
    return { is: "allowed", mayChange: isOwn || isRead(facts), hasSession: true, ...named };
  }
  if (OPEN.has(path) || (isHere && facts.peer === "ours")) {
    return { is: "allowed", mayChange: false, ...named };
  }
  return refused(
    isHere
      ? "only programs of the user who runs this server may read without a token; see: viv token"
      : "this needs the token, or a login: viv token --link",
  );
}

function isRead({ method }: Facts): boolean {
  return method === "GET" || method === "HEAD";
}

/** Any port: it may be forwarded. */
export function isOurHost(host: string | undefined, { bind, hosts }: Place): boolean {
  const name = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(host ?? "")?.[1]?.toLowerCase();
  if (name === undefined) return false;
  if (["localhost", "127.0.0.1", "[::1]"].includes(name)) return true;
  const isBound = name === bind || name === `[${bind}]`;
  return isBound || hosts.some((one) => one.toLowerCase() === name);
}

/** The page that this server has given out, under the name by which it is asked. */
function isOwnOrigin(origin: string, host: string, { isTls, hosts }: Place): boolean {
  const own = host.toLowerCase();
  if (origin === `${isTls ? "https" : "http"}://${own}`) return true;
  // Behind a proxy that has the certificate.
  const name = own.replace(/:\d+$/, "");
  return origin === `https://${own}` && hosts.some((one) => one.toLowerCase() === name);
}

/** Browsers say it; a person who follows a link is no page. */
function isFromForeignPage({ site, mode, method }: Facts): boolean {
  if (site !== "cross-site" && site !== "same-site") return false;
  return !(mode === "navigate" && method === "GET");
}

function forbidden(message: string): Verdict {
  return { is: "refused", status: 403, message };
}

function refused(message: string): Verdict {
  return { is: "refused", status: 401, message };
}

/** Takes as long for a nearly right secret as for a wrong one. */
export function isSame(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  // Of another length, it is compared all the same: the length alone is no secret.
  const isEqual = timingSafeEqual(a.length === b.length ? a : b, b);
  return isEqual && a.length === b.length;
}
