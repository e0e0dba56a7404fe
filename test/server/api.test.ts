import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CATALOG } from "../../src/app/catalog.ts";
import { NOT_OVER_HTTP } from "../../src/app/http-operations.ts";
import { VivError } from "../../src/base/errors.ts";
import { openRun } from "../../src/main.ts";
import { type LandingState, writeLanding } from "../../src/merge/landing.ts";
import { recordPath, writeRecord } from "../../src/work/workspaces/record.ts";
import { until } from "../support/deadline.ts";
import { rawAsk, type Served, serveAt, serveRun } from "./support.ts";

const errorIn = async (response: Response) => ({
  status: response.status,
  ...((await response.json()) as { error: { code: string; message: string } }).error,
});

interface Api {
  openapi: string;
  security: object[];
  paths: Record<
    string,
    {
      get?: { parameters: { name: string; required: boolean }[]; security?: object[] };
      post?: { security?: object[] };
    }
  >;
}

describe("the operations", () => {
  it("are those of the catalogue, or are left out for a reason", async () => {
    const served = await serveRun();
    const { paths, openapi, security } = await served.json<Api>("/openapi.json");
    expect(openapi).toBe("3.1.0");
    expect(security).toEqual([{}, { token: [] }]); // of all that does not say another
    for (const { get, post } of Object.values(paths)) {
      expect([get?.security, post?.security ?? [{ token: [] }]]).toEqual([
        ...[undefined, [{ token: [] }]],
      ]);
    }
    expect(await danglingRefs(served)).toEqual([]);
    for (const { name } of CATALOG.commands) {
      const path = `/api/${name.replaceAll(" ", "/")}`;
      if (Object.hasOwn(NOT_OVER_HTTP, name)) {
        expect(paths[path], name).toBeUndefined();
        const refused = await errorIn(await served.ask(path));
        expect(refused, name).toMatchObject({
          status: 404,
          message: expect.stringContaining("not offered"),
        });
      } else expect(paths[path]?.post, name).toBeDefined();
    }
    const known = new Set(CATALOG.commands.map(({ name }) => name));
    expect(Object.keys(NOT_OVER_HTTP).filter((name) => !known.has(name))).toEqual([]);
    const page = await (await served.ask("/docs")).text();
    expect(page).toContain(`curl ${served.server.address}/api/status\n`);
    expect(page).not.toContain("--json"); // Ubuntu 22.04 has a curl without it
    for (const path of Object.keys(paths).filter(
      (one) => one.startsWith("/api/") && !/session|artifacts/.test(one),
    )) {
      expect(page).toContain(path);
    }
    expect(page).not.toMatch(/<script|style=|onclick/);
  });

  it("that change nothing answer GET without a token, all of them", async () => {
    const served = await serveRun();
    await served.post("/api/enqueue", { type: "t", id: "a" });
    const { paths } = await served.json<Api>("/openapi.json");
    const given: Record<string, string> = {
      id: "a",
      from: "gh",
      repo: "a/b",
      agent: "ada",
      slug: "s",
      config: "agents.toml",
      dry_run: "true",
    };
    const reads = Object.entries(paths).filter(
      ([path, { get, post }]) => get && post && path.startsWith("/api/"),
    );
    expect(reads.length).toBeGreaterThan(30);
    for (const [path, { get }] of reads) {
      const needed = (get?.parameters ?? []).filter(
        ({ name, required }) => required || (name === "dry_run" && path === "/api/import"),
      );
      const query = new URLSearchParams(
        Object.fromEntries(needed.map(({ name }) => [name, given[name] ?? "x"])),
      );
      const stop = new AbortController();
      const response = await served.ask(`${path}?${query}`, { signal: stop.signal });
      if (path === "/api/watch") {
        expect(response.status).toBe(200);
        stop.abort(); // it goes on until then
        continue;
      }
      const text = await response.text();
      // There is no crew, board or such thing here: then it says so.
      expect([200, 400, 404, 409, 503], `${path}: ${text}`).toContain(response.status);
      expect(text, path).not.toContain("BUG");
    }
    for (const path of [
      "status",
      "ls",
      "report",
      "costs",
      "gate",
      "accounts",
      "warden/status",
      "doctor",
      "tree",
      "merge",
    ]) {
      expect((await served.ask(`/api/${path}`)).status, path).toBe(200);
    }
    // 503 would mean that it comes by itself.
    for (const path of ["crew/ps", "board/ls"]) {
      expect((await served.ask(`/api/${path}`)).status, path).toBe(404);
    }
  });

  it("that change something, with this input, are refused as GET and without a token", async () => {
    const served = await serveRun();
    for (const path of [
      "enqueue?type=t",
      "enqueue",
      "cancel?unknown=1",
      "doctor?fix=true",
      "status?summary=x",
      "gate?max=1",
      "accounts?action=open&name=a",
      "workspaces?action=gc",
      "merge?all=true",
      "pause",
      "runs?prune=1",
    ]) {
      const response = await served.ask(`/api/${path}`);
      expect(response.status, path).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
      const post = await served.ask(`/api/${path.split("?")[0]}`, { method: "POST" });
      expect(post.status, path).toBe(401);
    }
    expect((await served.json<{ counts: object }>("/api/status")).counts).toMatchObject({
      pending: 0,
    });
  });

  it("take their inputs from the query, or from a body, and say what is wrong with them", async () => {
    const served = await serveRun();
    for (const id of ["a", "b", "c"])
      await served.post("/api/enqueue", { type: "t", id, payload: { n: 1 } });
    const ids = async (query: string) =>
      (await served.json<{ tasks: { id: string }[] }>(`/api/ls?${query}`)).tasks.map(
        ({ id }) => id,
      );
    expect(await ids("limit=2")).toHaveLength(2);
    expect(await ids("state=pending,waiting&state=done")).toEqual(["a", "b", "c"]);
    const wrong = async (path: string, init?: Parameters<Served["ask"]>[1]) =>
      errorIn(await served.ask(path, init));
    expect(await wrong("/api/ls?limit=many")).toMatchObject({
      status: 400,
      message: "limit must be a number.",
    });
    expect(await wrong("/api/ls?nope=1")).toMatchObject({
      status: 400,
      message: expect.stringContaining('no input "nope"'),
    });
    expect(await wrong("/api/show")).toMatchObject({
      status: 400,
      message: "show needs id; see /docs.",
    });
    expect(await wrong("/api/show?id=a&id=b")).toMatchObject({ status: 400 });
    expect(await wrong("/api/show?id=zz")).toMatchObject({ status: 404, code: "TASK_NOT_FOUND" });
    expect(await wrong("/api/nothing")).toMatchObject({ status: 404, code: "NOT_FOUND" });
    const post = (body: string, type = "application/json") => ({
      method: "POST",
      token: true,
      body,
      headers: { "content-type": type },
    });
    expect(await wrong("/api/enqueue", post("{"))).toMatchObject({ status: 400 });
    expect(await wrong("/api/enqueue", post("[1]"))).toMatchObject({ status: 400 });
    expect(await wrong("/api/enqueue", post('{"type":"t","id":"a"}'))).toMatchObject({
      status: 409,
      code: "TASK_EXISTS",
      state: "pending",
    });
    expect(await wrong("/api/enqueue", post('{"type":"t","id":"../x"}'))).toMatchObject({
      status: 400,
    });
    expect(
      await wrong("/api/enqueue", post("type=t", "application/x-www-form-urlencoded")),
    ).toMatchObject({ status: 415 });
    expect(await wrong("/api/retry", post("{}"))).toMatchObject({ status: 400 });
    // Not enqueued with other characters in the place of wrong bytes.
    const latin = Buffer.from('{"type":"t","id":"l","payload":{"name":"\xe9"}}\n', "latin1");
    for (const [path, type] of [
      ["/api/enqueue", "application/json"],
      ["/api/enqueue/lines", "application/x-ndjson"],
    ] as const) {
      expect(await wrong(path, { ...post("", type), body: latin })).toMatchObject({
        ...{ status: 400, message: expect.stringContaining("not UTF-8") },
      });
    }
    for (const path of ["a%00b", "x".repeat(5000), "/etc/passwd/x"]) {
      for (const from of ["board/ls?board", "warden/status?state"]) {
        expect((await wrong(`/api/${from}=${path}`)).code, `${from}=${path}`).not.toBe("BUG");
      }
    }
    expect(await wrong("/api/show?id=l")).toMatchObject({ status: 404 });
    const cancelled = await served.post<{ tasks: object[] }>("/api/cancel", { ids: ["a"] });
    expect(cancelled.tasks).toMatchObject([{ id: "a", to: "cancelled" }]);
    const shown = await served.json<{ ledger: { event: string; by?: string }[] }>("/api/show?id=a");
    expect(shown.ledger.at(-1)).toMatchObject({ event: "cancelled", by: "ada" });
  });

  it("with inputs in the query of a POST are refused: left out, they would be another change", async () => {
    const served = await serveRun();
    for (const path of ["pause?worker=w", "merge?dry_run=true", "enqueue?id=a"]) {
      const refused = await errorIn(
        await served.ask(`/api/${path}`, { method: "POST", token: true }),
      );
      expect(refused, path).toMatchObject({
        ...{ status: 400, message: expect.stringContaining("JSON body") },
      });
    }
    expect(await served.json("/api/status")).not.toHaveProperty("paused");
  });

  it("that record a person name the account where the environment names none", async () => {
    for (const env of [{}, { USER: "", LOGNAME: "" }]) {
      const served = await serveRun({}, { env });
      const by = userInfo().username;
      expect(await served.post("/api/pause", {})).toMatchObject({ paused: { by } });
      await served.post("/api/enqueue", { type: "t", id: "a" });
      await served.post("/api/cancel", { ids: ["a"] });
      const shown = await served.json<{ ledger: object[] }>("/api/show?id=a");
      expect(shown.ledger.at(-1)).toMatchObject({ event: "cancelled", by });
      await served.post("/api/resume", {});
      const given = await served.post("/api/pause", { by: "pia" });
      expect(given).toMatchObject({ paused: { by: "pia" } });
    }
  });

  it("errors name a key that is not known first, and keys instead of flags, but not in commands", async () => {
    const served = await serveRun();
    const post = async (path: string, body: object) =>
      (
        await errorIn(
          await served.ask(path, {
            ...{ method: "POST", token: true, body: JSON.stringify(body) },
            headers: { "content-type": "application/json" },
          }),
        )
      ).message;
    expect(await post("/api/enqueue", { typo: "quick" })).toMatch(
      /^there is no input "typo"; there are: .*\btype,/,
    );
    expect(await post("/api/enqueue", {})).toBe("enqueue needs type; see /docs.");
    await served.post("/api/enqueue", { type: "t", id: "a" });
    expect(await post("/api/enqueue", { type: "t", id: "a" })).toBe(
      'task a is there already: pending; choose another id, or pass "if_absent": true.',
    );
    const lines = await served.ask("/api/enqueue/lines", {
      ...{ method: "POST", token: true, body: '{"type":"t","id":"a"}' },
      headers: { "content-type": "application/x-ndjson" },
    });
    expect((await errorIn(lines)).message).toContain("or pass if_absent=true.");
    const since = await errorIn(await served.ask("/api/ledger/show?since=x"));
    expect(since.message).toMatch(/^since "x" is not a time/);
    rmSync(join(served.run, "pending/a.json"));
    expect(await post("/api/enqueue", { type: "t", id: "a" })).toContain("viv doctor --fix");
  });

  it("JSON lines that are refused in the middle answer with the error's status, and what was enqueued", async () => {
    const served = await serveRun();
    const send = async (body: string, accept = "*/*") => {
      const answer = await served.ask("/api/enqueue/lines", {
        ...{ method: "POST", token: true, body },
        headers: { "content-type": "application/x-ndjson", accept },
      });
      return { status: answer.status, text: await answer.text() };
    };
    const task = (id: string) => `{"type":"t","id":"${id}"}\n`;
    const counts = { enqueued: 1, pending: 1, waiting: 0, existed: 0 };
    const cut = await send(`${task("a")}x\n${task("c")}`);
    expect([cut.status, JSON.parse(cut.text)]).toMatchObject([
      400,
      { error: { code: "INVALID", message: expect.stringMatching(/^line 2: /), ...counts } },
    ]);
    const taken = await send(`${task("d")}${task("a")}`);
    expect([taken.status, JSON.parse(taken.text)]).toMatchObject([
      409,
      { error: { code: "TASK_EXISTS", line: 2, ...counts } },
    ]);
    const first = await send("x\n");
    expect([first.status, JSON.parse(first.text)]).toMatchObject([400, { error: { enqueued: 0 } }]);
    const many = Array.from({ length: 250 }, (_, i) => task(`m.${i}`)).join("");
    const all = await send(many);
    expect([all.status, JSON.parse(all.text)]).toMatchObject([200, { output: { enqueued: 250 } }]);
    // With progress, for clients that ask for it.
    const told = await send(`${task("e")}x\n`, "text/event-stream");
    expect(told).toMatchObject({ status: 200, text: expect.stringMatching(/^event: event\n/) });
    expect(told.text).toContain("event: error\n");
  });

  it("stream as JSON lines, or as server-sent events", async () => {
    const served = await serveRun();
    const lines = await served.ask("/api/enqueue/lines?parent=p", {
      ...{ method: "POST", token: true, body: '{"type":"t","id":"a"}\n{"type":"t","id":"b"}\n' },
      headers: { "content-type": "application/x-ndjson" },
    });
    const said = (await lines.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(said.at(-1)).toMatchObject({ output: { enqueued: 2 } });
    expect(await served.json("/api/show?id=b")).toMatchObject({ task: { parent: "p" } });
    writeFileSync(join(served.run, "artifacts/a.log"), "one\ntwo\n");
    const log = await served.ask("/api/logs?id=a", { headers: { accept: "text/event-stream" } });
    expect(log.headers.get("content-type")).toContain("text/event-stream");
    expect(await log.text()).toBe(
      'event: event\ndata: {"text":"one\\ntwo\\n"}\n\nevent: output\ndata: {"id":"a","receipts":[]}\n\n',
    );
    const missing = await served.ask("/api/logs?id=zz");
    expect(missing.status).toBe(404);
  });
});

describe("artifacts", () => {
  it("are text or a download, never a page, and nothing else of the disk", async () => {
    const served = await serveRun();
    const artifacts = join(served.run, "artifacts");
    writeFileSync(join(artifacts, "a.md"), "# done\n");
    writeFileSync(join(artifacts, "a.html"), "<script>alert(1)</script>");
    writeFileSync(join(artifacts, "a.svg"), "<svg onload=alert(1)>");
    writeFileSync(join(served.folder, "secret"), "secret");
    symlinkSync(join(served.folder, "secret"), join(artifacts, "link.md"));
    mkdirSync(join(artifacts, "folder.md"));
    const text = await served.ask("/api/artifacts/a.md");
    expect(text.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await text.text()).toBe("# done\n");
    for (const name of ["a.html", "a.svg"]) {
      const page = await served.ask(`/api/artifacts/${name}`);
      expect(page.headers.get("content-type")).toBe("application/octet-stream");
      expect(page.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
      expect(page.headers.get("content-security-policy")).toContain("sandbox");
      expect(page.headers.get("x-content-type-options")).toBe("nosniff");
      await page.text();
    }
    const paths = [
      "link.md",
      "folder.md",
      "nothing.md",
      "..%2f..%2fsecret",
      "%2e%2e/%2e%2e/secret",
      "..%5c..%5csecret",
      "a.md%00.txt",
      "..",
      ".",
      "",
      ".hidden",
      "%",
      "a%0d%0ax-evil:1",
      `${"a".repeat(300)}`,
    ];
    for (const path of paths) {
      const { status, text, headers } = await rawAsk(served, `/api/artifacts/${path}`);
      expect([400, 404], path).toContain(status);
      expect(text).not.toContain("secret\n");
      expect(headers["x-evil"]).toBeUndefined();
    }
  });
});

describe("the run", () => {
  it("may go away and come back: 503 meanwhile, and the same server goes on", async () => {
    const served = await serveRun();
    await served.post("/api/enqueue", { type: "t", id: "a" });
    renameSync(served.run, `${served.run}.away`);
    const gone = await errorIn(await served.ask("/api/ls"));
    expect(gone).toMatchObject({
      status: 503,
      code: "RUN_NOT_FOUND",
      message: expect.stringContaining("viv init"),
    });
    expect((await served.ask("/readyz")).status).toBe(503);
    expect((await served.ask("/healthz")).status).toBe(200);
    expect((await served.ask("/events")).status).toBe(503);
    await (await openRun(served.run, { create: true })).close();
    expect(await served.json("/api/ls")).toMatchObject({ tasks: [] });
    await served.post("/api/enqueue", { type: "t", id: "b" });
    rmSync(served.run, { recursive: true });
    renameSync(`${served.run}.away`, served.run);
    expect(await served.json("/api/ls")).toMatchObject({ tasks: [{ id: "a" }] });
    await served.post("/api/cancel", { ids: ["a"] });
    expect((await served.json<{ ledger: object[] }>("/api/show?id=a")).ledger).toHaveLength(2);
  });

  it("answers 503 with a sentence when the disk is full, and 500 for a bug", async () => {
    const served = await serveRun(
      {},
      {
        activity: async () => {
          throw new VivError("DISK_FULL", "the disk is full; free some space.");
        },
        gates: async () => {
          throw new TypeError("oops");
        },
      },
    );
    expect(await errorIn(await served.ask("/_activity"))).toMatchObject({
      status: 503,
      code: "DISK_FULL",
    });
    expect(await errorIn(await served.ask("/metrics"))).toMatchObject({ status: 500, code: "BUG" });
    expect(served.warnings.join()).toContain("oops");
  });
});

describe("/_activity", () => {
  it("without a crew is in the seed's shape for one agent: the worker with a task", async () => {
    const served = await serveRun();
    const activity = () => served.json("/_activity");
    expect(await activity()).toEqual({ agent: null, steps: [], thought: null });
    const store = await openRun(served.run);
    const idle = await store.register("a", { types: ["other"] });
    const busy = await store.register("b", { types: ["t"] });
    const agent = (name: string, running: boolean) => ({ name, running, lifecycle: null });
    expect(await activity()).toEqual({ agent: agent("a", false), steps: [], thought: null });
    await store.enqueue({ type: "t", id: "t.1" });
    const [claim] = await store.claim({ worker: "b", types: ["t"] });
    busy.note("t.1", { atOnce: true });
    const thinks = { agent: agent("b", true), steps: [], thought: "t.1" };
    await until("its note is written", async () => (await activity()).thought !== null);
    expect(await activity()).toEqual(thinks);
    // Its note is the old one until the next heartbeat.
    await store.complete({ id: "t.1", worker: "b", token: claim?.token });
    await idle.release();
    expect(await activity()).toEqual({ agent: agent("b", false), steps: [], thought: null });
    await busy.release();
    await store.close();
  });

  it("has the seed's keys for a crew and for a keeper, from their files", async () => {
    const served = await serveRun();
    const state = join(served.folder, ".crew");
    mkdirSync(state);
    const write = (name: string, value: unknown) =>
      writeFileSync(join(state, name), `${JSON.stringify(value)}\n`);
    const status = (name: string, more: object) => ({
      ...{ name, state: "waiting", since: "", run: null, outcome: null, note: "", last_run: null },
      ...{ next_tick: null, streak: 0, crashes: 0, lifecycle: null, saved: 0, cost_today: 0 },
      ...{ day: "", run_usd: 0, thought: null, engine: "exec", mode: "plan", ...more },
    });
    write("status-moss.json", status("moss", { state: "running", thought: "reading" }));
    write("status-wren.json", status("wren", {}));
    const step = { tool: "fetch", target: "https://a.example", ts: 1_760_000_000, agent: "moss" };
    write("_steps.jsonl", step);
    const moss = {
      name: "moss",
      running: true,
      lifecycle: null,
      steps: [step],
      thought: "reading",
    };
    const wren = { name: "wren", running: false, lifecycle: null, steps: [], thought: null };
    const text = await (await served.ask("/_activity")).text();
    expect(text).toBe(JSON.stringify({ agents: [moss, wren], wire: [step], agent: moss }));

    write("crew.json", { singleton: true, members: ["moss"] });
    write("status.json", status("moss", { state: "running", thought: "reading" }));
    const keeper = { name: "moss", running: true, lifecycle: null };
    expect(await served.json("/_activity")).toEqual({
      ...{ agent: keeper, steps: [step], thought: "reading" },
    });
  });
});

it("counts for Prometheus what the ledger and the run say, and goes on from there", async () => {
  const served = await serveRun();
  const store = await openRun(served.run);
  for (const id of ["a", "b"]) await store.enqueue({ type: "t", id });
  for (const claim of await store.claim({ worker: "w", max: 2 })) await store.complete(claim);
  const usage = {
    event: "usage",
    task: "a",
    engine: "claude",
    usd: 0.5,
    models: [{ model: "m", input: 10, output: 3, usd: 0.5 }],
  } as const;
  await store.append({ ...usage, models: [...usage.models] });
  const scrape = async () => (await served.ask("/metrics")).text();
  const first = await scrape();
  const totals = [...first.matchAll(/^# TYPE (\S+_total) (\w+)$/gm)];
  expect(totals.length).toBeGreaterThan(0);
  for (const [, name, type] of totals) expect([name, type]).toEqual([name, "counter"]);
  for (const line of [
    'viv_tasks{state="done"} 2',
    'viv_attempts_total{outcome="done"} 2',
    "viv_attempt_seconds_count 2",
    "viv_wait_seconds_count 2",
    'viv_usd_total{engine="claude",model="m"} 0.5',
    'viv_tokens_total{engine="claude",model="m",kind="output"} 3',
    "viv_event_streams 0",
    'viv_gate_slots_used{gate="machine"} 0',
    "viv_build_info",
  ]) {
    expect(first).toContain(line);
  }
  await store.enqueue({ type: "t", id: "c" });
  const [claim] = await store.claim({ worker: "w" });
  await store.fail({ id: "c", worker: "w", token: claim?.token }, { final: true });
  await store.close();
  expect(await scrape()).toContain('viv_attempts_total{outcome="failed"} 1');
  expect(await scrape()).toContain('viv_attempts_total{outcome="done"} 2');
});

it("/metrics has the dollars of viv costs: while attempts run, after a crash, and after a restart", async () => {
  const served = await serveRun();
  const store = await openRun(served.run);
  for (const id of ["a", "b", "c", "d", "e"]) await store.enqueue({ type: "t", id });
  const claims = await store.claim({ worker: "w", max: 5 });
  const spend = async (i: number, event: "step" | "usage", more: Record<string, unknown>) => {
    const { id: task, token } = claims[i] as (typeof claims)[number];
    await store.append({ event, task, token, worker: "w", ...more });
  };
  const step = (model: string, usd: number) => ({ model, usd, tokens: { input: 10, output: 1 } });
  const usage = (...models: [string, number][]) => ({
    engine: "claude",
    models: models.map(([model, usd]) => ({ model, usd, input: 20, output: 2 })),
  });
  const bothOn = async (one: Served) => {
    const scraped = await (await one.ask("/metrics")).text();
    const sum = (name: string) =>
      [...scraped.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce(
        (all, [, value]) => all + Number(value),
        0,
      );
    const { total } = await one.json<{ total: { usd: number } }>("/api/costs");
    expect(sum("viv_usd_total") + sum("viv_usd_running")).toBeCloseTo(total.usd, 6);
    return { total: total.usd, ended: sum("viv_usd_total") };
  };
  // a: by its steps, then by a usage line of more; b: a usage line of less than its steps.
  await spend(0, "step", step("m", 0.1));
  await spend(1, "step", step("m", 0.3));
  await spend(1, "step", step("n", 0.2));
  expect(await bothOn(served)).toMatchObject({ ended: 0 });
  await spend(0, "usage", usage(["m", 0.25]));
  await spend(1, "usage", usage(["m", 0.3]));
  // c: two usage lines, of which the larger counts; d: never ends in order.
  await spend(2, "usage", usage(["m", 0.1], ["n", 0.1]));
  await spend(2, "usage", usage(["m", 0.4], ["n", 0.1]));
  await spend(3, "step", step("n", 0.07));
  // e: one of its runs said nothing.
  await spend(4, "step", step("m", 0.05));
  await spend(4, "usage", { ...usage(["n", 0.5]), unreadable: true });
  await bothOn(served);
  for (const i of [0, 1, 2, 4]) await store.complete(claims[i] as (typeof claims)[number]);
  expect((await bothOn(served)).total).toBeCloseTo(0.25 + 0.5 + 0.5 + 0.07 + 0.55, 6);
  await store.release({ id: "d", worker: "w", token: claims[3]?.token });
  await store.close();
  const before = await bothOn(served);
  expect(before.ended).toBeCloseTo(before.total, 6);
  await served.server.stop();
  expect(await bothOn(await serveAt(served.folder))).toEqual(before);
});

it("/metrics has the branches that viv report says have not landed", async () => {
  const served = await serveRun();
  const store = await openRun(served.run);
  const at = "2026-01-01T00:00:00.000Z";
  const commits = { base: "a", head: "b" };
  mkdirSync(store.workspaces, { recursive: true });
  for (const id of ["new", "held", "landed", "same", "closed", "plain", "bad", "open"]) {
    await store.enqueue({ type: "t", id });
    const [claim] = await store.claim({ worker: "w" });
    if (id === "open") await store.release({ id, worker: "w", token: claim?.token });
    else await store.complete({ id, worker: "w", token: claim?.token });
    if (id === "plain") continue;
    const branch = { repository: "/r", branch: `viv/${id}`, ...commits, created_at: at };
    writeRecord(store.workspaces, id, { kind: "worktree", ...branch });
    const state = LANDINGS[id];
    if (state === undefined) continue;
    const way = { target: "main", strategy: "merge", reworks: 0 } as const;
    writeLanding(store.folder, {
      task: id,
      state,
      at,
      repository: "/r",
      branch: "b",
      ...commits,
      ...way,
    });
  }
  await store.append({ event: "landed", task: "landed", target: "main" });
  writeFileSync(recordPath(store.workspaces, "bad"), "{");
  await store.close();
  const { landed } = await served.json<{ landed: { waiting: number } }>("/api/report");
  expect(landed.waiting).toBe(2);
  expect(await (await served.ask("/metrics")).text()).toContain("\nviv_merge_queue 2\n");
});

const LANDINGS: Readonly<Record<string, LandingState>> = {
  ...{ held: "held", landed: "landed", same: "no_changes", closed: "closed" },
};

/** The references of the document that name nothing in it. */
async function danglingRefs(served: Served): Promise<string[]> {
  const text = await (await served.ask("/openapi.json")).text();
  const refs = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
  expect(refs.length).toBeGreaterThan(0);
  return [...new Set(refs)].filter((path) => {
    let at: unknown = JSON.parse(text);
    for (const key of path.split("/")) at = (at as Record<string, unknown> | undefined)?.[key];
    return at === undefined;
  });
}
