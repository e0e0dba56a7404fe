// A small server for working on the page: serves dist/web and made-up answers of the contract.
//   node web/dev/server.mjs [--port 4848] [--tasks 412] [--still]
// --still: nothing happens by itself. Tests start it with startDevServer().

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { dataOperations } from "./data.mjs";
import { makeRun, matches, report, timeline } from "./fixtures.mjs";
import { diff, logLine, neighbours, show, why } from "./task.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const RUNS = ["nightly", "backfill", "docs"].map((name, at) => ({
  ...{ path: `/home/fleet/${name}`, state: ["running", "running", "finished"][at], run_id: name },
  ...{ counts: { pending: 43, done: 288 }, last_change: null },
  ...(at < 2 ? { address: `http://127.0.0.1:${4747 + at}` } : {}),
}));
const here = fileURLToPath(new URL(".", import.meta.url));

/** `change(fn)` alters the run and tells the page; `posted` has the changes that were asked for. */
export async function startDevServer({
  port = 0,
  tasks = 412,
  still = true,
  files = join(here, "../../dist/web"),
  mayChange = true,
} = {}) {
  const run = makeRun(tasks);
  const streams = new Set();
  const posted = [];
  const artifacts = new Map();
  const logs = new Map();
  let sequence = 0;
  const all = () => Object.values(run).flat();
  const find = (id) => all().find((card) => card.id === id);
  const counts = () => report(run, "12h").counts;
  const tell = (event, data) => {
    sequence++;
    for (const stream of streams)
      stream.write(`id: ${sequence}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const move = (id, to) => {
    const card = find(id);
    if (!card) return;
    const from = card.column;
    run[from].splice(run[from].indexOf(card), 1);
    Object.assign(card, {
      column: to,
      state: { ready: "pending", working: "claimed" }[to] ?? to,
      since: new Date().toISOString(),
    });
    if (to === "done" || to === "failed") run[to].unshift(card);
    else run[to].push(card);
    tell("task", {
      id,
      from: { ready: "pending", working: "claimed" }[from] ?? from,
      to: card.state,
      at: card.since,
    });
    tell("ledger", {
      event: to === "working" ? "claimed" : "ended",
      task: id,
      at: card.since,
      worker: card.worker,
    });
    tell("counts", { counts: counts() });
  };

  const operations = {
    session: () => ({
      run_id: "nightly",
      run_dir: "/home/fleet/nightly",
      version: "0.1.0",
      can_change: mayChange,
    }),
    report: ({ since = "12h" }) => report(run, since),
    timeline: ({ since }) =>
      timeline(
        Number.isNaN(Date.parse(since)) ? new Date(Date.now() - 12 * 3.6e6).toISOString() : since,
      ),
    cards: ({ windows = "", filter = "" }) => cards(windows, filter),
    show: ({ id }) => (find(id) ? (find(id).show ?? show(find(id))) : null),
    why: ({ id }) => (find(id) ? why(find(id)) : null),
    neighbours: () => neighbours(run),
    ...dataOperations,
    runs: () => ({ runs: RUNS }),
    diff: ({ id, stat, file }) => diff(find(id) ?? {}, stat !== undefined, file),
  };

  function cards(windows, filter) {
    const lists = Object.fromEntries(
      Object.entries(run).map(([column, list]) => [
        column,
        filter === "" ? list : list.filter((card) => matches(card, filter)),
      ]),
    );
    const size = (record) =>
      Object.fromEntries(Object.entries(record).map(([column, list]) => [column, list.length]));
    const tally = (key) => {
      const seen = new Map();
      for (const card of all()) if (card[key]) seen.set(card[key], (seen.get(card[key]) ?? 0) + 1);
      return [...seen].sort((a, b) => b[1] - a[1]).map(([name, count]) => ({ [key]: name, count }));
    };
    return {
      ...{
        counts: size(lists),
        all: size(run),
        types: tally("type"),
        workers: tally("worker"),
        reading: null,
      },
      windows: windows
        .split(",")
        .filter(Boolean)
        .map((one) => {
          const [column, offset, limit] = one.split(":");
          const list = lists[column] ?? [];
          return {
            column,
            offset: Number(offset),
            total: list.length,
            cards: list.slice(Number(offset), Number(offset) + Number(limit)),
          };
        }),
    };
  }

  const decisions = {
    approve: "done",
    reject: "ready",
    retry: "ready",
    cancel: "failed",
    release: "ready",
  };
  function decide(name, input) {
    posted.push({ name, input });
    const ids = input.ids ?? (input.id ? [input.id] : []);
    if (decisions[name]) for (const id of ids) move(id, decisions[name]);
    return { tasks: ids.map((id) => ({ id, from: "review", to: "done", attempt: 3 })) };
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const name = url.pathname.replace(/^\/api\//, "").replaceAll("/", " ");
    const send = (status, body, type = "application/json") => {
      response.writeHead(status, {
        "content-type": `${type}; charset=utf-8`,
        "content-security-policy": CSP,
        "x-content-type-options": "nosniff",
      });
      response.end(body);
    };
    const query = Object.fromEntries(url.searchParams);
    if (url.pathname === "/events") return listen(request, response);
    if (url.pathname === "/api/logs") return sendLog(response, query);
    if (url.pathname.startsWith("/api/artifacts/")) {
      const text = artifacts.get(decodeURIComponent(url.pathname.slice("/api/artifacts/".length)));
      return text === undefined
        ? send(
            404,
            JSON.stringify({
              error: { code: "ARTIFACT_NOT_FOUND", message: "there is no such artifact." },
            }),
          )
        : send(200, text, "text/plain");
    }
    if (url.pathname.startsWith("/api/")) {
      if (request.method === "POST") {
        let body = "";
        for await (const part of request) body += part;
        if (!mayChange)
          return send(
            401,
            JSON.stringify({
              error: { code: "UNAUTHORIZED", message: "a change needs the token." },
            }),
          );
        return send(200, JSON.stringify(decide(name, JSON.parse(body || "{}"))));
      }
      const answer = operations[name]?.(query);
      if (answer === undefined)
        return send(
          404,
          JSON.stringify({
            error: { code: "NOT_FOUND", message: `there is no operation ${name} here.` },
          }),
        );
      if (answer === null)
        return send(
          404,
          JSON.stringify({
            error: {
              code: "TASK_NOT_FOUND",
              message: `there is no task ${query.id} in this run; see: viv ls`,
            },
          }),
        );
      return send(200, JSON.stringify(answer));
    }
    const path = extname(url.pathname) === "" ? "/index.html" : url.pathname;
    try {
      if (path.includes("..")) throw new Error("outside");
      send(
        200,
        await readFile(join(files, path)),
        TYPES[extname(path)] ?? "application/octet-stream",
      );
    } catch {
      send(404, "not found", "text/plain");
    }
  });

  function listen(request, response) {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "content-security-policy": CSP,
      "cache-control": "no-store",
    });
    response.write(
      `event: hello\ndata: ${JSON.stringify({ counts: counts(), at: new Date().toISOString() })}\n\n`,
    );
    streams.add(response);
    const beat = setInterval(() => response.write("event: beat\ndata: {}\n\n"), 15_000);
    request.on("close", () => {
      clearInterval(beat);
      streams.delete(response);
    });
  }

  function sendLog(response, { id, follow }) {
    response.writeHead(200, {
      "content-type": "application/x-ndjson",
      "content-security-policy": CSP,
    });
    const line = (text) => response.write(`${JSON.stringify({ text })}\n`);
    if (logs.has(id)) line(logs.get(id));
    else for (let n = 0; n < 80; n++) line(logLine(n));
    const end = () => {
      response.write(`${JSON.stringify({ output: { id, receipts: [] } })}\n`);
      response.end();
    };
    if (follow === undefined || find(id)?.column !== "working") return end();
    let n = 80;
    const timer = setInterval(() => line(logLine(n++)), still ? 3_600_000 : 700);
    response.on("close", () => clearInterval(timer));
  }

  const timer = still
    ? undefined
    : setInterval(() => {
        const from = ["ready", "working", "working", "review"][Math.floor(Math.random() * 4)];
        const card = run[from][0];
        if (card)
          move(
            card.id,
            { ready: "working", working: Math.random() > 0.2 ? "done" : "review", review: "done" }[
              from
            ],
          );
        if (card && from === "working" && run.ready[0]) move(run.ready[0].id, "working");
      }, 1500);

  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    port: server.address().port,
    ...{ run, posted, artifacts, logs, operations, find, move, tell },
    /** Ends every connection, as a server that is killed. */
    close: () => {
      clearInterval(timer);
      for (const stream of streams) stream.destroy();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      port: { type: "string" },
      tasks: { type: "string" },
      still: { type: "boolean" },
      files: { type: "string" },
    },
  });
  const { url } = await startDevServer({
    port: Number(values.port ?? 4848),
    tasks: Number(values.tasks ?? 412),
    still: values.still === true,
    files: values.files,
  });
  console.log(url);
}
