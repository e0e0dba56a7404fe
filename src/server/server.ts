import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { errno } from "../base/errno.ts";
import { VivError } from "../base/errors.ts";
import { followLedgers } from "../ledger/follow.ts";
import { keepSealed } from "../ledger/keep-sealed.ts";
import type { Store } from "../queue/store.ts";
import { isLoopback, type ServerSettings } from "./config.ts";
import { EventHub, type FollowLedgers } from "./event-hub.ts";
import { gatekeeperFor } from "./gatekeeper.ts";
import { KeptRun } from "./kept-run.ts";
import { LIMITS, type Limits } from "./limits.ts";
import { secretsIn } from "./secrets.ts";
import type { ServedRun, ServerHost } from "./server-host.ts";
import { tlsFiles } from "./tls-files.ts";
import { HEADERS, webApp } from "./web-app.ts";

export interface ServerOptions {
  host: ServerHost;
  run: ServedRun;
  settings: ServerSettings;
  limits?: Partial<Limits>;
  /** A sentence that a person should read. */
  warn(sentence: string): void;
  /** viv.toml or the certificate was read anew, and counts. */
  onReloaded?(file: string): void;
}

export interface RunningServer {
  /** `http://127.0.0.1:4747` */
  address: string;
  port: number;
  /** Ends streams, waits for requests under way, closes the run. */
  stop(): Promise<void>;
}

/** Resolves when the server answers; rejects when the run or the port cannot be used. */
export async function startServer({
  host,
  run: served,
  settings,
  warn,
  onReloaded = () => {},
  limits: given = {},
}: ServerOptions): Promise<RunningServer> {
  const { bind, hosts, origins } = settings;
  const limits = { ...LIMITS, ...given };
  if (isIP(bind) === 0) {
    throw new VivError("USAGE", `${bind || "nothing"} is no address to listen on, like 127.0.0.1.`);
  }
  if (!isLoopback(bind) && settings.tls === undefined && !settings.insecure) {
    const needs = "it needs tls_cert and tls_key in [server], or insecure = true";
    throw new VivError("USAGE", `${bind} is not only for this machine; ${needs}.`);
  }
  const tls = settings.tls && tlsFiles(settings.tls, served.config?.folder ?? ".");
  const run = new KeptRun(host, served, warn, onReloaded);
  const stopping = new AbortController();
  const now = host.machine.clock.now;
  let port = settings.port;
  let sealer: ReturnType<typeof keepSealed> | undefined;
  try {
    const { ledgerFolder } = await run.store();
    sealer = keepSealed(ledgerFolder, { now, warn });
    const request = { signal: stopping.signal, input: NO_INPUT };
    const read = {
      store: () => run.store(),
      followIn: async (store: Store): Promise<FollowLedgers> => {
        const sources = await host.invoke(run.run, store, request, host.ledgers);
        return (options) => {
          if (!/^(start|end)$|^(.*,)?run([/,].*)?$/.test(options.from ?? "end")) {
            throw new VivError("INVALID", "this is no position of a run.");
          }
          return followLedgers(sources, options);
        };
      },
    };
    const hub = new EventHub({ ...read, now, warn, unreadBytes: limits.unreadBytes });
    const metrics = {
      ...{ ...read, version: host.version, streams: () => hub.size },
      gates: (store: Store) => host.invoke(run.run, store, request, host.gates),
      branchesLeft: (store: Store, hasLanded: (task: string) => boolean) =>
        host.invoke(run.run, store, request, (context) => host.branchesLeft(context, hasLanded)),
    };
    const place = { bind, isTls: tls !== undefined, hosts, origins, port: () => port };
    const app = webApp({
      ...{ host, run, hub, metrics, limits, stopping: stopping.signal, headers: HEADERS },
      gatekeeper: gatekeeperFor(place, secretsIn(host.state), now),
      onBug: (error) =>
        warn(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    });
    const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    const options = optionsFor(limits);
    const tlsServer = tls && createTlsServer({ ...tls.first, ...options }, listener);
    const server = limited(tlsServer ?? createServer(options, listener), limits);
    const close = closer(server);
    port = await listen(server, settings);
    if (isAny(bind) && hosts.length === 0) {
      warn(
        `other machines reach ${bind}, and get 403: only names in hosts of [server] in viv.toml are answered, like hosts = ["viv.example.org"]; addresses too.`,
      );
    }
    const unfollow = tls?.follow((pair) => {
      tlsServer?.setSecureContext(pair);
      onReloaded(settings.tls?.cert ?? "");
    }, warn);
    return {
      address: addressOf(settings, port),
      port,
      stop: async () => {
        stopping.abort();
        unfollow?.();
        hub.close();
        await close();
        await sealer?.stop();
        await run.close();
      },
    };
  } catch (error) {
    await sealer?.stop();
    await run.close().catch(() => {}); // the error that came first counts
    throw error;
  }
}

const NO_INPUT = async function* (): AsyncGenerator<never> {};

function optionsFor(limits: Limits) {
  return {
    ...{ maxHeaderSize: limits.headerBytes, headersTimeout: limits.headersMs },
    ...{ requestTimeout: limits.requestMs, keepAliveTimeout: limits.keepAliveMs },
    connectionsCheckingInterval: limits.checkMs,
  };
}

function limited(server: Server, limits: Limits): Server {
  server.maxConnections = limits.connections;
  server.timeout = limits.idleMs;
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const status = CLIENT_ERRORS[error.code ?? ""] ?? "400 Bad Request";
    socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    socket.destroySoon(); // a client that never closes would keep its place
  });
  return server;
}

const CLIENT_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** So many fleets on one machine find a port without being told one. */
const DEFAULT_PORTS = 20;

/** Of default ports the first that is free: a restarted server finds the one that it had. */
async function listen(server: Server, settings: ServerSettings): Promise<number> {
  const { port, bind } = settings;
  const last = settings.isDefaultPort ? port + DEFAULT_PORTS - 1 : port;
  for (let one = port; one < last; one++) {
    try {
      return await listenOn(server, one, bind);
    } catch (error) {
      if (errno((error as Error).cause) !== "EADDRINUSE") throw error;
    }
  }
  return listenOn(server, last, bind);
}

function listenOn(server: Server, port: number, bind: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      const message: Partial<Record<string, string>> = {
        EADDRINUSE: `port ${port} is taken, perhaps by another viv serve; choose another with --port, or with port in [server] of viv.toml; 0 is any free one.`,
        EACCES: `port ${port} may not be used by you; choose one above 1023 with --port, or with port in [server] of viv.toml.`,
        EADDRNOTAVAIL: `${bind} is no address of this machine; see bind in [server] of viv.toml.`,
      };
      const text =
        message[error.code ?? ""] ?? `the server cannot listen on ${bind}: ${error.message}`;
      reject(new VivError("UNSUPPORTED", text, { port, bind }, { cause: error }));
    };
    server.once("error", onError);
    server.listen(port, bind, () => {
      server.off("error", onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Counts requests under way: connections without one may be closed at any time. */
function closer(server: Server): () => Promise<void> {
  let underway = 0;
  server.on("request", (_, response) => {
    underway++;
    response.once("close", () => {
      underway--;
      if (!server.listening && underway === 0) server.closeAllConnections();
    });
  });
  return async () => {
    const end = new Promise<void>((resolve) => server.close(() => resolve()));
    if (underway === 0) server.closeAllConnections();
    const late = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    await end;
    clearTimeout(late);
  };
}

const DRAIN_MS = 3_000;

function isAny(bind: string): boolean {
  return bind === "0.0.0.0" || bind === "::";
}

/** By which a browser on this machine reaches it; others by a name of `hosts`. */
function addressOf({ bind, tls, hosts }: ServerSettings, port: number): string {
  const name = isAny(bind) ? (hosts[0] ?? "127.0.0.1") : bind.includes(":") ? `[${bind}]` : bind;
  return `${tls ? "https" : "http"}://${name}:${port}`;
}
