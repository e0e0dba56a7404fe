import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { VivError } from "../base/errors.ts";
import { isOurPeer } from "../platform/processes/tcp-peer.ts";
import type { CrewLine, MemberStatus } from "./member-status.ts";

/** Steps that are read; shown of each agent; shown of all. */
export const LOOKED_AT = 60;
const OF_EACH = 5;
const ON_THE_WIRE = 10;

/**
 * `GET /_activity` of a crew. `agent` is for pages that know only a keeper: of those that run the
 * busiest, which has made most of the last steps; if none runs, the one with the latest step.
 */
export function crewActivity(statuses: readonly MemberStatus[], lines: readonly CrewLine[]) {
  const steps = stepsIn(lines);
  const agents = statuses.map((status) => ({
    ...agentOf(status),
    steps: steps.filter(({ agent }) => agent === status.name).slice(-OF_EACH),
    thought: thoughtOf(status),
  }));
  const latest = (name: string) => steps.findLastIndex(({ agent }) => agent === name);
  const busy = (name: string) => steps.filter(({ agent }) => agent === name).length;
  const running = agents
    .filter((agent) => agent.running)
    .sort((a, b) => busy(b.name) - busy(a.name) || latest(b.name) - latest(a.name));
  const idle = agents.toSorted((a, b) => latest(b.name) - latest(a.name));
  return { agents, wire: steps.slice(-ON_THE_WIRE), agent: running[0] ?? idle[0] ?? null };
}

export function keeperActivity(status: MemberStatus, lines: readonly CrewLine[]) {
  const steps = stepsIn(lines).slice(-OF_EACH);
  return { agent: agentOf(status), steps, thought: thoughtOf(status) };
}

function agentOf({ name, state, lifecycle }: MemberStatus) {
  return { name, running: state === "running", lifecycle };
}

function stepsIn(lines: readonly CrewLine[]) {
  return lines
    .flatMap((line) => ("tool" in line ? [line] : []))
    .slice(-LOOKED_AT)
    .map(({ tool, target, ts, agent }) => ({ tool, target, ts, agent }));
}

/** The current one: that of an earlier run is none. */
function thoughtOf({ state, thought }: MemberStatus): string | null {
  return state === "running" ? thought : null;
}

export type ActivityServer = Awaited<ReturnType<typeof serveActivity>>;

/** A request is one small packet. */
const REQUEST_MS = 5_000;
/** Each costs a file descriptor that a run may need: beyond this the oldest is closed. */
const MOST_CONNECTIONS = 16;

/**
 * A read-only server for one page of JSON, for this user on this machine only. `origins`: the web
 * pages, by their exact origin, that may read it in this user's browser.
 */
export async function serveActivity(
  port: number,
  activity: () => unknown,
  origins: readonly string[] = [],
) {
  const limits = {
    ...{ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: REQUEST_MS },
    ...{ connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 },
  };
  const server = createServer(limits, async (request, response) => {
    const isOurs = await isOurPeer(request.socket);
    answer(request, response, { activity, isOurs, origins });
  });
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => {}); // hung up: close follows
    const [oldest] = open;
    if (open.size > MOST_CONNECTIONS) oldest?.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "is taken; choose another, or 0" : error.message;
      reject(new VivError("UNSUPPORTED", `port ${port} ${why}.`, {}, { cause: error }));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A foreign page must not read this through the user's browser, unless it is named. */
const OURS = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

interface Served {
  activity: () => unknown;
  isOurs: boolean;
  origins: readonly string[];
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { activity, isOurs, origins }: Served,
): void {
  const { host = "", origin } = request.headers;
  const isNamed = origin !== undefined && origins.includes(origin);
  const send = (status: number, body: unknown) => {
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...(origins.length > 0 && { vary: "Origin" }),
      ...(isNamed && { "access-control-allow-origin": origin }),
    };
    response.writeHead(status, headers).end(`${JSON.stringify(body)}\n`);
  };
  const isForeign =
    origin !== undefined && !isNamed && !OURS.test(origin.replace(/^https?:\/\//, ""));
  const isHere = (request.url ?? "").split("?")[0] === "/_activity";
  if (!OURS.test(host) || isForeign) send(403, { error: "only from this machine" });
  else if (!isOurs) send(403, { error: "only for the user who runs this crew" });
  else if (isNamed && isHere && request.method === "OPTIONS") allow(request, response, origin);
  else if (request.method !== "GET" && request.method !== "HEAD") send(405, { error: "read-only" });
  else if (!isHere) send(404, { error: "see /_activity" });
  else {
    try {
      send(200, activity());
    } catch (error) {
      send(500, { error: (error as Error).message });
    }
  }
}

/** The answer to a preflight; a browser asks whether a public page may reach this machine at all. */
function allow({ headers }: IncomingMessage, response: ServerResponse, origin: string): void {
  const isPrivate = headers["access-control-request-private-network"] === "true";
  response
    .writeHead(204, {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers": "accept, cache-control, content-type, pragma",
      "access-control-max-age": "600",
      vary: "Origin",
      ...(isPrivate && { "access-control-allow-private-network": "true" }),
    })
    .end();
}
