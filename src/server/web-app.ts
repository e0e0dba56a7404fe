import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono, type Context as HonoContext } from "hono";
import { escapeHtml } from "../base/text.ts";
import { type ApiAround, assertMayChange, type Env, operationRoutes } from "./api.ts";
import { sendArtifact } from "./artifacts.ts";
import { filterFrom } from "./event-filter.ts";
import type { EventHub } from "./event-hub.ts";
import type { Gatekeeper } from "./gatekeeper.ts";
import { errorAnswer, HttpError } from "./http-errors.ts";
import type { Limits } from "./limits.ts";
import type { Metrics, MetricsAround } from "./metrics.ts";
import { STREAM_TYPES } from "./operation-stream.ts";
import { PLAIN_CSS, plainPage } from "./plain-page.ts";
import { type StaticFile, staticFile } from "./static-page.ts";

export interface WebAround extends ApiAround {
  hub: EventHub;
  gatekeeper: Gatekeeper;
  metrics: MetricsAround;
  limits: Limits;
}

type C = HonoContext<Env>;

/** On every answer. Styles that a script sets by hand are not inline ones. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** Everything that the server answers. */
export function webApp(around: WebAround): Hono<Env> {
  const { host, run, hub, gatekeeper, limits } = around;
  const app = new Hono<Env>();
  let metrics: Promise<Metrics> | undefined;

  const openReads = openReadsOf(around);

  app.onError((error, c) => failed(c, error));
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    if (c.req.url.length > limits.queryBytes) throw new HttpError(413, "the address is too long.");
    const { mayChange, hasSession, headers } = await gatekeeper.admit(c.env.incoming);
    openReads.add(c.env);
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    c.set("mayChange", mayChange);
    c.set("hasSession", hasSession);
    await next();
  });

  app.get("/healthz", (c) => c.json({ ok: true }));
  app.get("/readyz", async (c) => {
    await (await run.store()).paused();
    return c.json({ ok: true });
  });
  app.get("/login", (c) => {
    // A program that only looks whether the link leads anywhere, as chats do, does not use it up.
    if (c.req.method === "HEAD") return c.body(null, 200);
    const cookie = gatekeeper.login(c.req.query("code") ?? "");
    if (cookie === null) {
      throw new HttpError(
        403,
        "this login link was used already, or is too old; make another with: viv token --link",
      );
    }
    c.header("set-cookie", cookie);
    return c.redirect("/", 303);
  });
  app.get("/api/session", async (c) => {
    const store = await run.store();
    return c.json({
      ...{ run_id: store.runId, run_dir: store.location, version: host.version },
      can_change: c.get("mayChange"),
    });
  });
  app.get("/api/artifacts/:name", async (c) => {
    const { artifacts } = await run.store();
    const { outgoing } = c.env;
    await sendArtifact(
      artifacts,
      c.req.param("name"),
      outgoing,
      { ...HEADERS },
      c.req.method === "HEAD",
    );
    return RESPONSE_ALREADY_SENT;
  });
  app.route("/api", operationRoutes(around));
  app.get("/events", async (c) => {
    if (hub.sizeSoon >= limits.eventStreams) {
      throw new HttpError(
        429,
        `${limits.eventStreams} streams of events are open already; close one.`,
      );
    }
    if (c.req.method === "HEAD") return c.body(null, 200, { "content-type": STREAM_TYPES.sse });
    const { outgoing } = c.env;
    const { searchParams } = new URL(c.req.url);
    const from = c.req.header("last-event-id") || searchParams.get("from") || undefined;
    await hub.join(outgoing, { ...HEADERS }, filterFrom(searchParams), from);
    return RESPONSE_ALREADY_SENT;
  });
  app.get("/_activity", async (c) => {
    const store = await run.store();
    const request = { signal: around.stopping, input: () => c.env.incoming };
    return c.json((await host.invoke(run.run, store, request, host.activity)) as object);
  });
  app.options("/_activity", (c) => c.body(null, 204));
  app.get("/metrics", async (c) => {
    metrics ??= import("./metrics.ts").then(({ Metrics }) => new Metrics(around.metrics));
    const text = await (await metrics).text();
    return c.body(text, 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  app.get("/openapi.json", async (c) => {
    const { openApi } = await import("./openapi.ts");
    return c.json(await openApi(host));
  });
  app.get("/docs", async (c) => {
    const { docsPage } = await import("./docs-page.ts");
    return c.html(await docsPage(host, new URL(c.req.url).origin));
  });
  app.get("/plain.css", (c) =>
    c.body(PLAIN_CSS, 200, { "content-type": "text/css; charset=utf-8" }),
  );
  app.get("*", (c) => page(c, host.pageFolder));
  app.all("*", (c) => {
    assertMayChange(c);
    throw notFound(c);
  });

  function failed(c: C, error: unknown): Response {
    const { status, body } = errorAnswer(error, around.onBug);
    if (status === 401) c.header("www-authenticate", 'Bearer realm="viv"');
    // What is left of a body that was not wanted.
    if (!c.env.incoming.complete) c.header("connection", "close");
    const { message } = body.error;
    const answer = isForPeople(c)
      ? c.html(plainPage(`${status}`, `<p>${escapeHtml(message)}</p>`), status as 500)
      : c.json(body, status as 500);
    return answer;
  }
  return app;
}

/**
 * A stream goes on for days: it ends when its client would not be let in any more, as after `viv token
 * --renew`. A change goes on to its end.
 */
function openReadsOf({ gatekeeper, limits, stopping }: WebAround) {
  const open = new Set<Env["Bindings"]>();
  const timer = setInterval(() => {
    for (const { incoming, outgoing } of open) {
      gatekeeper.admit(incoming).catch(() => outgoing.destroy());
    }
  }, limits.admitAgainMs).unref();
  stopping.addEventListener("abort", () => clearInterval(timer), { once: true });
  return {
    add: (one: Env["Bindings"]) => {
      // Its client may have gone while it was let in: then there is no "close" to come.
      if (one.incoming.method !== "GET" || one.outgoing.destroyed) return;
      open.add(one);
      one.outgoing.once("close", () => open.delete(one));
    },
  };
}

function isForPeople(c: C): boolean {
  return c.req.header("accept")?.includes("text/html") === true && !c.req.path.startsWith("/api/");
}

function notFound(c: C): HttpError {
  return new HttpError(404, `there is nothing at ${c.req.path}; see /docs.`);
}

const UNBUILT = `<p>The page is not built in this copy. The API is here: <a href="/docs">/docs</a>.</p>
<p>To build the page: <code>npm run build</code></p>`;

/** A file of the page; any other address that a person opens is the page itself, which reads it. */
async function page(c: C, folder: string): Promise<Response> {
  const { path } = c.req;
  if (path.startsWith("/api/")) throw notFound(c);
  const file = path === "/" ? null : await staticFile(folder, path);
  if (file !== null) return send(c, file);
  if (path !== "/" && !isForPeople(c)) throw notFound(c);
  const index = await staticFile(folder, "/index.html");
  if (index === null) return c.html(plainPage("Vivarium", UNBUILT), path === "/" ? 200 : 404);
  return send(c, index);
}

function send(c: C, { bytes, gzipped, etag, type, isForever }: StaticFile): Response {
  // The page itself is asked for each time: another version of the server has another one.
  c.header("cache-control", isForever ? "public, max-age=31536000, immutable" : "no-cache");
  c.header("etag", etag);
  c.header("vary", "accept-encoding");
  if (c.req.header("if-none-match") === etag) return c.body(null, 304);
  const mayZip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(
    c.req.header("accept-encoding") ?? "",
  );
  if (!mayZip || gzipped === null) return c.body(bytes, 200, { "content-type": type });
  return c.body(gzipped, 200, { "content-type": type, "content-encoding": "gzip" });
}
