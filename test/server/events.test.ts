import { appendFileSync, readdirSync, renameSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openRun } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { Events, rawAsk, serveAt, serveRun } from "./support.ts";

const isLine = (event: string, task: string) => (one: { event: string; data: object }) =>
  one.event === "ledger" &&
  "task" in one.data &&
  one.data.task === task &&
  (one.data as { event?: string }).event === event;

describe("/events", () => {
  it("says at once where things stand, then what happens, with exact counts", async () => {
    const served = await serveRun();
    await served.post("/api/enqueue", { type: "t", id: "a" });
    const events = await Events.open(served);
    expect(events.all[0]).toMatchObject({ event: "hello", data: { counts: { pending: 1 } } });
    await served.post("/api/enqueue", { type: "t", id: "b" });
    await served.post("/api/claim", { worker: "w", types: ["t"] });
    await served.post("/api/cancel", { ids: ["b"] });
    await events.next(isLine("cancelled", "b"));
    // The line and the move come by different ways.
    await until("the move", () => JSON.stringify(events.all).includes('"to":"cancelled"'));
    const moves = events.all.filter(({ event }) => event === "task").map(({ data }) => data);
    expect(moves).toMatchObject([
      { id: "b", from: null, to: "pending" },
      { id: "a", from: "pending", to: "claimed", worker: "w" },
      { id: "b", from: "pending", to: "cancelled" },
    ]);
    const counts = { pending: 0, claimed: 1, cancelled: 1, failed: 0 };
    await events.next(
      ({ event, data }) => event === "counts" && JSON.stringify(data).includes('"cancelled":1'),
    );
    expect(events.all.filter(({ event }) => event === "counts").at(-1)?.data).toMatchObject({
      counts,
    });
  });

  it("goes on from the last id, after a restart of the server too: each line once", async () => {
    const served = await serveRun();
    const first = await Events.open(served);
    await served.post("/api/enqueue", { type: "t", id: "a" });
    await first.next(isLine("enqueued", "a"));
    const { lastId } = first;
    first.close();
    for (const id of ["b", "c"]) await served.post("/api/enqueue", { type: "t", id });
    await served.server.stop();
    const again = await serveAt(served.folder);
    const writes = (async () => {
      for (let i = 0; i < 30; i++) await again.post("/api/enqueue", { type: "t", id: `x${i}` });
    })();
    const second = await Events.open(again, "/events", lastId);
    await writes;
    await second.next(isLine("enqueued", "x29"));
    const ids = second.ledger().map(({ task }) => task);
    expect(ids).toEqual(["b", "c", ...[...Array(30).keys()].map((i) => `x${i}`)]);
    // Of another run, whose ledger has grown further than the place that this id names.
    const other = await serveRun();
    for (const id of ["1", "2"]) await other.post("/api/enqueue", { type: "t", id });
    const elsewhere = await Events.open(other, "/events", lastId);
    await elsewhere.next(({ event }) => event === "reset");
    await other.post("/api/enqueue", { type: "t", id: "3" });
    await elsewhere.next(isLine("enqueued", "3"));
    expect(elsewhere.ledger().map(({ task }) => task)).toEqual(["3"]);
    const third = await Events.open(again, `/events?from=${encodeURIComponent(second.lastId)}`);
    await again.post("/api/enqueue", { type: "t", id: "last" });
    await third.next(isLine("enqueued", "last"));
    expect(third.ledger()).toHaveLength(1);
  });

  it("go on behind a line that is nested too deep to be written again", async () => {
    const served = await serveRun();
    const first = await Events.open(served);
    const { lastId } = first;
    await served.post("/api/enqueue", { type: "t", id: "a" });
    await first.next(isLine("enqueued", "a"));
    const ledger = join(served.folder, "run/ledger");
    const [day = ""] = readdirSync(ledger);
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    appendFileSync(
      join(ledger, day),
      `{"at":"${new Date().toISOString()}","event":"x","x":${deep}}\n`,
    );
    await served.post("/api/enqueue", { type: "t", id: "b" });
    await first.next(isLine("enqueued", "b"));
    const again = await Events.open(served, "/events", lastId);
    await again.next(isLine("enqueued", "b"));
    for (const { all } of [first, again]) expect(JSON.stringify(all)).not.toContain("[[[");
  });

  it("a client without a line resumes as well: the greeting has an id", async () => {
    const served = await serveRun();
    const quiet = await Events.open(served);
    const { lastId } = quiet;
    expect(lastId).not.toBe("");
    quiet.close();
    await served.post("/api/enqueue", { type: "t", id: "a" });
    const again = await Events.open(served, "/events", lastId);
    await again.next(isLine("enqueued", "a"));
    // Also of one that has asked for the end: it was another one.
    const end = await Events.open(served, "/events?from=end");
    end.close();
    await served.post("/api/enqueue", { type: "t", id: "b" });
    await (await Events.open(served, "/events", end.lastId)).next(isLine("enqueued", "b"));
  });

  it("HEAD of a stream has no stream", async () => {
    const served = await serveRun();
    for (const path of ["/events", "/api/watch"]) {
      const { status, headers } = await rawAsk(served, path, {}, { method: "HEAD" });
      expect([path, status, headers["content-type"]]).toEqual([path, 200, expect.any(String)]);
    }
    expect(await (await served.ask("/metrics")).text()).toContain("viv_event_streams 0");
  });

  it("asks to read anew when lines are lost: of another run, or with an id that is none", async () => {
    const served = await serveRun();
    await served.post("/api/enqueue", { type: "t", id: "a" });
    let n = 0;
    for (const id of [
      "nonsense",
      "run/2026-01-01=99",
      "crew/2026-01-01=9",
      "run/9999-99-99",
      "run/2999-01-01,crew",
      "run/../x=1",
      "x".repeat(500),
    ]) {
      const events = await Events.open(served, "/events", id);
      await events.next(({ event }) => event === "reset");
      await served.post("/api/enqueue", { type: "t", id: `b${n}` });
      await events.next(isLine("enqueued", `b${n++}`));
      events.close();
    }
  });

  it("says so when the run is replaced under it, and goes on with the new one", async () => {
    const served = await serveRun();
    const events = await Events.open(served);
    renameSync(served.run, `${served.run}.away`);
    await (await openRun(served.run, { create: true })).close();
    await served.json("/api/ls");
    const other = await Events.open(served); // whoever asks next finds the new one
    await events.next(({ event }) => event === "reset");
    await served.post("/api/enqueue", { type: "t", id: "new" });
    for (const one of [events, other]) await one.next(isLine("enqueued", "new"));
  });

  it("misses nothing when the only other stream ends while this one begins", async () => {
    const counting: (() => void)[] = [];
    const served = await serveRun(
      {},
      {
        open: async ({ path }) => {
          const store = await openRun(path);
          const counts = store.counts.bind(store);
          store.counts = async () => {
            if (counting.length < 2) await new Promise<void>((resolve) => counting.push(resolve));
            return counts();
          };
          return store;
        },
      },
    );
    const opening = [Events.open(served), Events.open(served)];
    await until("both count", () => counting.length === 2);
    counting[0]?.();
    const first = await Promise.race(opening);
    first.close();
    await until("it is gone", async () =>
      (await (await served.ask("/metrics")).text()).includes("viv_event_streams 0"),
    );
    counting[1]?.();
    const [events] = (await Promise.all(opening)).filter((one) => one !== first);
    if (events === undefined) throw new Error("there is no other");
    await served.post("/api/enqueue", { type: "t", id: "a" });
    await events.next(isLine("enqueued", "a"));
  });

  it("filters by room, event, task, agent and type", async () => {
    const served = await serveRun();
    const open = (query: string) => Events.open(served, `/events?${query}`);
    const streams = {
      all: await open(""),
      task: await open("task=a,zz"),
      event: await open("event=claimed&event=cancelled"),
      agent: await open("agent=w"),
      type: await open("type=u"),
      room: await open("room=crew"),
    };
    await served.post("/api/enqueue", { type: "t", id: "a" });
    await served.post("/api/enqueue", { type: "u", id: "b" });
    await served.post("/api/claim", { worker: "w", types: ["t"] });
    await served.post("/api/cancel", { ids: ["b"] });
    await streams.all.next(isLine("cancelled", "b"));
    await streams.type.next(isLine("cancelled", "b"));
    await streams.event.next(isLine("cancelled", "b"));
    for (const name of ["task", "agent"] as const) await streams[name].next(isLine("claimed", "a"));
    const seen = (events: Events) => events.ledger().map(({ event, task }) => `${event} ${task}`);
    expect(seen(streams.task)).toEqual(["enqueued a", "claimed a"]);
    expect(seen(streams.event)).toEqual(["claimed a", "cancelled b"]);
    expect(seen(streams.agent)).toEqual(["claimed a"]);
    expect(seen(streams.type)).toEqual(["enqueued b", "cancelled b"]);
    const moved = streams.type.all.filter(({ event }) => event === "task");
    expect(new Set(moved.map(({ data }) => data.id))).toEqual(new Set(["b"]));
    expect(seen(streams.room)).toEqual([]);
  });

  it("a filter that is none is refused, with those there are; an event that viv never writes is named", async () => {
    const served = await serveRun();
    for (const [query, message] of [
      [
        "rom=queue",
        'there is no filter "rom"; there are: room, event, task, agent, type, as, from.',
      ],
      ["room=queue,quee", 'there is no room "quee"; there are: queue, crew, warden, fleet, demo.'],
    ]) {
      const { status, text } = await rawAsk(served, `/events?${query}`);
      expect([status, JSON.parse(text)]).toMatchObject([
        400,
        { error: { code: "USAGE", message } },
      ]);
    }
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const asked = await served.ask("/events?event=eneded,claimed", { signal: stop.signal });
    let text = "";
    for await (const chunk of asked.body as ReadableStream<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (text.includes("event: hello")) break;
    }
    expect(text.match(/^: .*$/gm)).toEqual([': viv writes no event "eneded"; did you mean ended?']);
  });

  it("filters by the type that a task has in this run, and asks again when it could not be read", async () => {
    const looks: ((error: Error | null) => void)[] = [];
    const served = await serveRun(
      {},
      {
        open: async ({ path }) => {
          const store = await openRun(path);
          const show = store.show.bind(store);
          store.show = async (id) => {
            const error = await new Promise<Error | null>((resolve) => looks.push(resolve));
            if (error !== null) throw error;
            return show(id);
          };
          return store;
        },
      },
    );
    const events = await Events.open(served, "/events?type=u&room=queue");
    const other = await openRun(served.run);
    await other.enqueue({ id: "a", type: "u" });
    await until("its type is asked for", () => looks.length > 0);
    for (const answer of looks.splice(0)) answer(new Error("EMFILE"));
    await other.append({ event: "held", task: "a" });
    await until("it is asked for again", () => looks.length > 0);
    // Meanwhile the run is another one, in which the task has another type.
    renameSync(served.run, `${served.run}.away`);
    const replaced = await openRun(served.run, { create: true });
    const second = await Events.open(served, "/events?type=t");
    await events.next(({ event }) => event === "reset");
    for (const answer of looks.splice(0)) answer(null);
    await replaced.enqueue({ id: "a", type: "t" });
    await until("its type there is asked for", () => {
      for (const answer of looks.splice(0)) answer(null);
      return second.ledger().length > 0;
    });
    expect(events.ledger()).toEqual([]);
    expect(second.ledger()).toMatchObject([{ event: "enqueued", task: "a" }]);
    for (const store of [other, replaced]) await store.close();
  });

  it("come without a name for clients that know no others (n8n), and only the ledger's lines", async () => {
    const served = await serveRun();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const { body } = await served.ask("/events?as=message&event=cancelled", {
      signal: stop.signal,
    });
    for (const id of ["a", "b"]) await served.post("/api/enqueue", { type: "t", id });
    for (const id of ["a", "b"]) await served.post("/api/cancel", { ids: [id] });
    let text = "";
    for await (const chunk of body as ReadableStream<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (text.includes('"task":"b"') && text.endsWith("\n\n")) break;
    }
    expect(text).not.toMatch(/^event:/m);
    const lines = [...text.matchAll(/^id: \S+\ndata: (.*)\n\n/gm)].map(([, data]) =>
      JSON.parse(data ?? ""),
    );
    expect(lines.map(({ event, task }) => `${event} ${task}`)).toEqual([
      "cancelled a",
      "cancelled b",
    ]);
    expect((await served.ask("/events?as=lines")).status).toBe(400);
  });

  it("are limited in number, and end with the server", async () => {
    const served = await serveRun({}, {}, { eventStreams: 2 });
    const [a] = [await Events.open(served), await Events.open(served)];
    expect((await rawAsk(served, "/events")).status).toBe(429);
    const more = await serveRun({}, {}, { eventStreams: 2 });
    const asked = [1, 2, 3, 4, 5].map(() => more.ask("/events"));
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429]);
    for (const { body } of answers) await body?.cancel();
    expect(await (await served.ask("/metrics")).text()).toContain("viv_event_streams 2");
    await served.server.stop();
    await until("they are over", () => a?.isOver === true);
  });
});

it("a client that does not read is closed, and the others go on", async () => {
  const served = await serveRun({}, {}, { unreadBytes: 4_000_000 });
  const reader = await Events.open(served);
  const lazy = connect(served.server.port, "127.0.0.1");
  lazy.pause();
  const closed = new Promise<void>((resolve) => lazy.once("close", () => resolve()));
  lazy.on("error", () => {}); // closed follows
  lazy.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1:${served.server.port}\r\n\r\n`);
  await until("both are there", async () =>
    (await (await served.ask("/metrics")).text()).includes("viv_event_streams 2"),
  );
  // The kernel takes some megabytes before it is full.
  const store = await openRun(served.run, { durability: "fast" });
  const note = "n".repeat(60_000);
  let isGone = false;
  for (let i = 0; i < 2_000 && !isGone; i++) {
    await store.append({ event: "held", task: `t${i}`, note });
    if (i % 20 === 0) {
      isGone = (await (await served.ask("/metrics")).text()).includes("viv_event_streams 1");
    }
  }
  await store.close();
  expect(isGone).toBe(true);
  lazy.resume();
  await closed;
  expect(reader.isOver).toBe(false);
});

it("a request that never ends to arrive is closed", async () => {
  const served = await serveRun({}, {}, { headersMs: 50, requestMs: 100, checkMs: 10 });
  const host = `Host: 127.0.0.1:${served.server.port}\r\n`;
  for (const text of [
    "GET / HTTP/1.1\r\n",
    `POST /api/enqueue HTTP/1.1\r\n${host}Authorization: Bearer ${served.secrets.token()}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  ]) {
    const socket = connect(served.server.port, "127.0.0.1");
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {}); // closed follows
    socket.resume().write(text);
    await closed;
  }
});
