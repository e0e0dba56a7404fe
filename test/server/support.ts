import { Agent, request as rawRequest } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { portsHere } from "../../src/app/ports.ts";
import { serverHost } from "../../src/app/server-parts.ts";
import { openRun } from "../../src/main.ts";
import { unitFiles } from "../../src/platform/systemd/unit-files.ts";
import type { ServerSettings } from "../../src/server/config.ts";
import type { Limits } from "../../src/server/limits.ts";
import { type Secrets, secretsIn } from "../../src/server/secrets.ts";
import { type RunningServer, startServer } from "../../src/server/server.ts";
import type { ServerHost } from "../../src/server/server-host.ts";
import { newFolder } from "../support/folders.ts";

/** A server in this process, for a run of its own. */
export interface Served {
  folder: string;
  run: string;
  server: RunningServer;
  secrets: Secrets;
  warnings: string[];
  /** As a program of this user; with the token where it is asked for. */
  ask(path: string, init?: RequestInit & { token?: boolean }): Promise<Response>;
  json<T = Record<string, unknown>>(path: string): Promise<T>;
  post<T = Record<string, unknown>>(path: string, body: unknown): Promise<T>;
}

export async function serveRun(
  settings: Partial<ServerSettings> = {},
  host: Partial<ServerHost> = {},
  limits: Partial<Limits> = {},
): Promise<Served> {
  const folder = newFolder();
  const run = join(folder, "run");
  await (await openRun(run, { create: true })).close();
  return serveAt(folder, settings, host, limits);
}

export async function serveAt(
  folder: string,
  settings: Partial<ServerSettings> = {},
  more: Partial<ServerHost> = {},
  limits: Partial<Limits> = {},
): Promise<Served> {
  const run = join(folder, "run");
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    USER: "ada",
    VIV_STATE: join(folder, "state"),
  };
  const around = {
    ...{ env, cwd: folder, notice: () => {} },
    program: {
      ...{ node: process.execPath, viv: join(folder, "dist/viv.cjs") },
      unitFiles: async () => unitFiles,
    },
  };
  const host = { ...serverHost({ ...around, provide: portsHere(around) }), ...more };
  const warnings: string[] = [];
  const server = await startServer({
    host,
    run: { path: run },
    limits,
    settings: {
      ...{ port: 0, bind: "127.0.0.1", insecure: false, hosts: [], origins: [] },
      ...settings,
    },
    warn: (sentence) => void warnings.push(sentence),
    onReloaded: (file) => void warnings.push(`${file} was read anew`),
  });
  onTestFinished(() => server.stop());
  const secrets = secretsIn(host.state);
  const ask: Served["ask"] = (path, { token, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (token) headers.set("authorization", `Bearer ${secrets.token()}`);
    return fetch(server.address + path, { ...init, headers });
  };
  const answered = async <T>(response: Response): Promise<T> => {
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };
  return {
    ...{ folder, run, server, secrets, warnings, ask },
    json: async (path) => answered(await ask(path)),
    post: async (path, body) =>
      answered(
        await ask(path, {
          ...{ method: "POST", token: true, body: JSON.stringify(body) },
          headers: { "content-type": "application/json" },
        }),
      ),
  };
}

/** Connections are kept: the owner of each is looked up once. */
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

/** A request with headers that `fetch` does not let through: Host, Origin, Cookie. */
export function rawAsk(
  { server }: Pick<Served, "server">,
  path: string,
  headers: Record<string, string> = {},
  { method = "GET", body = "" } = {},
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = rawRequest(
      { host: "127.0.0.1", port: server.port, path, method, headers, agent },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (more) => {
          text += more;
        });
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
        response.on("error", reject);
      },
    );
    asked.on("error", reject);
    asked.end(body);
  });
}

export interface Sent {
  event: string;
  id?: string;
  data: Record<string, unknown>;
}

/** A client of /events, as a browser's. */
export class Events {
  readonly all: Sent[] = [];
  isOver = false;
  #lastId = "";
  readonly #stop = new AbortController();
  readonly #wakes = new Set<() => void>();

  static async open(served: Served, path = "/events", lastId?: string): Promise<Events> {
    const events = new Events();
    const response = await fetch(served.server.address + path, {
      headers: lastId === undefined ? {} : { "last-event-id": lastId },
      signal: events.#stop.signal,
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    void events.#read(response).catch(() => {});
    onTestFinished(() => events.close());
    await events.next((one) => one.event === "hello");
    return events;
  }

  /** That of the last event that had one. */
  get lastId(): string {
    return this.#lastId;
  }

  async #read(response: Response): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) this.#take(block);
      }
    } finally {
      this.isOver = true;
      for (const wake of this.#wakes) wake();
    }
  }

  #take(block: string): void {
    const fields = new Map(
      block.split("\n").map((line) => {
        const at = line.indexOf(": ");
        return [line.slice(0, at), line.slice(at + 2)] as const;
      }),
    );
    const id = fields.get("id");
    if (id !== undefined) this.#lastId = id;
    const data = fields.get("data");
    if (data !== undefined)
      this.all.push({ event: fields.get("event") ?? "", id, data: JSON.parse(data) });
    for (const wake of this.#wakes) wake();
  }

  /** The first event, of those that came or come, for which it is so. */
  async next(isSo: (one: Sent) => boolean): Promise<Sent> {
    for (;;) {
      const found = this.all.find(isSo);
      if (found !== undefined) return found;
      if (this.isOver) throw new Error("the stream ended");
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#wakes.delete(wake);
          resolve();
        };
        this.#wakes.add(wake);
      });
    }
  }

  ledger(): Record<string, unknown>[] {
    return this.all.filter(({ event }) => event === "ledger").map(({ data }) => data);
  }

  close(): void {
    this.#stop.abort();
  }
}
