import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type Peer, peerOf } from "../platform/processes/tcp-peer.ts";
import { HttpError } from "./http-errors.ts";
import type { Secrets } from "./secrets.ts";
import { judge, type Place } from "./trust.ts";

/** Collects the facts about a request, and holds it to the verdict. */
export interface Gatekeeper {
  /** Throws HttpError. */
  admit(request: IncomingMessage): Promise<Admitted>;
  /** The cookie for a code of a login link; null for one that is not valid. */
  login(code: string): string | null;
}

export interface Admitted {
  mayChange: boolean;
  hasSession: boolean;
  /** For the answer. */
  headers: Record<string, string>;
}

export function gatekeeperFor(
  place: Place & { port(): number },
  secrets: Secrets,
  now: () => number,
): Gatekeeper {
  const peers = new WeakMap<Socket, Promise<Peer>>();
  const cookieName = () => `${place.isTls ? "__Host-" : ""}viv-${place.port()}`;

  /** Of one connection it is always the same. */
  const peer = (socket: Socket): Promise<Peer> => {
    const known = peers.get(socket) ?? peerOf(socket);
    peers.set(socket, known);
    return known;
  };

  return {
    async admit(request) {
      const { headers, method = "GET", url = "/", socket } = request;
      // Of several, node shows the first; a proxy may have looked at the last.
      if (request.headersDistinct.host?.length !== 1)
        throw new HttpError(400, "one Host is needed.");
      const { authorization = "" } = headers;
      const given = /^Bearer +(\S{1,200})$/i.exec(authorization)?.[1];
      const bearer =
        authorization === "" ? "none" : given && secrets.isToken(given) ? "right" : "wrong";
      // Servers on other ports of this host may set a cookie of this name, too.
      const sessions = cookiesIn(headers.cookie, cookieName());
      const verdict = judge(
        {
          ...{ method, path: url.split("?")[0] ?? url, host: headers.host, origin: headers.origin },
          site: one(headers["sec-fetch-site"]),
          mode: one(headers["sec-fetch-mode"]),
          ...{ bearer, hasSession: sessions.some((one) => secrets.isSession(one, now())) },
          peer: bearer === "right" ? "unknown" : await peer(socket),
        },
        place,
      );
      if (verdict.is === "refused") throw new HttpError(verdict.status, verdict.message);
      const { mayChange, hasSession = false, allowOrigin } = verdict;
      const cors = allowOrigin ? corsHeaders(request, allowOrigin) : {};
      return { mayChange, hasSession, headers: cors };
    },
    login(code) {
      if (!secrets.redeem(code, now())) return null;
      const { value, maxAgeSeconds } = secrets.newSession(now());
      const secure = place.isTls ? "; Secure" : "";
      return `${cookieName()}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure}`;
    },
  };
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function cookiesIn(header: string | undefined, name: string): string[] {
  return (header ?? "").split(";").flatMap((part) => {
    const [key, ...value] = part.trim().split("=");
    return key === name ? [value.join("=")] : [];
  });
}

/** For a page that may read /_activity; a browser asks whether a public page may reach this machine at all. */
function corsHeaders({ headers }: IncomingMessage, origin: string): Record<string, string> {
  const isPrivate = headers["access-control-request-private-network"] === "true";
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "GET, HEAD",
    "access-control-allow-headers": "accept, cache-control, content-type, pragma",
    "access-control-max-age": "600",
    "cross-origin-resource-policy": "cross-origin",
    vary: "Origin",
    ...(isPrivate && { "access-control-allow-private-network": "true" }),
  };
}
