import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { onTestFinished } from "vitest";

/** What a request to a stand-in brought. */
export interface Got {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** How a stand-in answers: `hang` never does, `close` hangs up after it has read the request. */
export type Answer =
  | { status: number; headers?: Record<string, string>; body?: string }
  | "hang"
  | "close";

/** A stand-in for a service: it keeps all it got, and has bad days. */
export interface Service {
  url: string;
  got: Got[];
  /** The next answers, in order; the last one stays. */
  answers: Answer[];
}

export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

export async function service(...answers: Answer[]): Promise<Service> {
  const all: Service = { url: "", got: [], answers };
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      all.got.push({ path: request.url ?? "", headers: request.headers, body });
      const next = all.answers.length > 1 ? all.answers.shift() : all.answers[0];
      reply(response, next ?? { status: 200, body: "ok" });
    });
  });
  onTestFinished(() => server.closeAllConnections());
  all.url = `http://127.0.0.1:${await listening(server)}`;
  return all;
}

function reply(response: ServerResponse, answer: Answer): void {
  if (answer === "hang") return;
  if (answer === "close") {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, answer.headers).end(answer.body ?? "");
}
