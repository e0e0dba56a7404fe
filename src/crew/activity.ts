import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { VivError } from "../base/errors.ts";
import { isOurPeer } from "../platform/processes/tcp-peer.ts";
import type { CrewLine, MemberStatus } from "./member-status.ts";

/** Steps that are read; shown of each agent; shown of all. */
export const LOOKED_AT = 60;
const OF_EACH = 5;
const ON_THE_WIRE = 10;

/** `GET /_activity` of a crew. `agent` is for pages that know only a keeper. */
export function crewActivity(statuses: readonly MemberStatus[], lines: readonly CrewLine[]) {
  const steps = stepsIn(lines);
  const agents = statuses.map((status) => ({
    ...agentOf(status),
    steps: steps.filter(({ agent }) => agent === status.name).slice(-OF_EACH),
    thought: thoughtOf(status, lines),
  }));
  const latest = steps.at(-1)?.agent;
  const agent =
    agents.find(({ running }) => running) ??
    agents.find(({ name }) => name === latest) ??
    agents[0] ??
    null;
  return { agents, wire: steps.slice(-ON_THE_WIRE), agent };
}

export function keeperActivity(status: MemberStatus, lines: readonly CrewLine[]) {
  const steps = stepsIn(lines).slice(-OF_EACH);
  return { agent: agentOf(status), steps, thought: thoughtOf(status, lines) };
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

function thoughtOf({ name, thought }: MemberStatus, lines: readonly CrewLine[]): string | null {
  const own = lines.flatMap((one) => ("thought" in one && one.agent === name ? [one] : []));
  return thought ?? own.at(-1)?.thought ?? null;
}

export type ActivityServer = Awaited<ReturnType<typeof serveActivity>>;

/** A request is one small packet. */
const REQUEST_MS = 5_000;
/** Each costs a file descriptor that a run may need: beyond this the oldest is closed. */
const MOST_CONNECTIONS = 16;

/** A read-only server for one page of JSON, for this user on this machine only. */
export async function serveActivity(port: number, activity: () => unknown) {
  const limits = {
    ...{ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: REQUEST_MS },
    ...{ connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 },
  };
  const server = createServer(limits, async (request, response) => {
    const isOurs = await isOurPeer(request.socket);
    answer(request, response, activity, isOurs);
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

/** A foreign page must not read this through the user's browser. */
const OURS = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  activity: () => unknown,
  isOurs: boolean,
): void {
  const send = (status: number, body: unknown) => {
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    };
    response.writeHead(status, headers).end(`${JSON.stringify(body)}\n`);
  };
  const { host = "", origin } = request.headers;
  const isForeign = origin !== undefined && !OURS.test(origin.replace(/^https?:\/\//, ""));
  if (!OURS.test(host) || isForeign) send(403, { error: "only from this machine" });
  else if (!isOurs) send(403, { error: "only for the user who runs this crew" });
  else if (request.method !== "GET" && request.method !== "HEAD") send(405, { error: "read-only" });
  else if ((request.url ?? "").split("?")[0] !== "/_activity")
    send(404, { error: "see /_activity" });
  else {
    try {
      send(200, activity());
    } catch (error) {
      send(500, { error: (error as Error).message });
    }
  }
}
