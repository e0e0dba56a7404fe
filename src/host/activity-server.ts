import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { VivError } from "../model/errors.ts";

/** A server for one page of JSON, on this machine alone, that changes nothing. */
export interface ActivityServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function serveActivity(
  port: number,
  activity: () => unknown,
): Promise<ActivityServer> {
  const server = createServer((request, response) => answer(request, response, activity));
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
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A page elsewhere must not be able to ask through the user's own browser. */
const OURS = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

function answer(request: IncomingMessage, response: ServerResponse, activity: () => unknown): void {
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
