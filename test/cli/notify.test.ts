import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openRun } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { newFolder, onDisk } from "../support/folders.ts";
import { type Answer, type Service, service } from "../support/services.ts";
import { cli, json, ok, Running, viv } from "./support.ts";

/** A folder with a run, a handler and a viv.toml, and a service that is notified. */
async function project(notify: string, { folder = newFolder(), answers = [] as Answer[] } = {}) {
  const there = await service(...answers);
  const handler = join(folder, "handle.sh");
  writeFileSync(handler, '#!/bin/sh\ncase "$VIV_TASK_ID" in bad*) exit 1;; esac\n');
  chmodSync(handler, 0o755);
  const toml = `run = "run"\n[handlers.default]\nhandler = "./handle.sh"\n${notify}\n`;
  writeFileSync(join(folder, "viv.toml"), toml.replaceAll("URL", there.url));
  const env = { VIV_STATE: join(folder, "state"), KEY: "sesame" };
  return { there, folder, around: { cwd: folder, env } };
}

const HOOK =
  '[[notify]]\non = ["review", "failed", "idle"]\nwebhook = "URL/hook"\nsecret = "env:KEY"';

interface Event {
  event: string;
  subject?: string;
}
const eventsAt = ({ got }: Service): string[] =>
  got.flatMap(({ body }) =>
    (JSON.parse(body).events as Event[]).map(({ event, subject }) =>
      [event, subject].filter(Boolean).join(" "),
    ),
  );

describe("viv work", () => {
  it("tells of reviews, failures and the end of the work, each once, and the rest stays quiet", async () => {
    const { there, around, folder } = await project(HOOK);
    await ok(["enqueue", "--type", "t", "--id", "a", "--review"], around);
    await ok(["enqueue", "--type", "t", "--id", "bad", "--max-attempts", "1"], around);
    await ok(["enqueue", "--type", "t", "--id", "c"], around);
    for (const _ of [1, 2]) {
      expect((await cli(["work", "--drain"], around)).stderr).toBe("");
      expect(eventsAt(there).sort()).toEqual(["failed bad", "idle", "review a"]);
    }
    expect(there.got[0]?.headers["webhook-signature"]).toMatch(/^v1,/);
    const { targets, messages } = await json<{ targets: unknown[]; messages: { state: string }[] }>(
      ["notify", "ls"],
      around,
    );
    expect(targets).toEqual([
      { name: "webhook", kind: "webhook", on: ["review", "failed", "idle"] },
    ]);
    expect(messages.map(({ state }) => state)).toEqual(["sent", "sent", "sent"]);
    expect(await ok(["doctor"], around)).toMatch(/healthy/);
    const files = readdirSync(join(folder, "run/outbox/sent"));
    const texts = files.map((name) => readFileSync(join(folder, "run/outbox/sent", name), "utf8"));
    expect(texts.join("")).not.toContain("sesame");
  });

  it("does not call a paused run idle while tasks are pending", async () => {
    const { there, around } = await project(HOOK);
    for (const id of ["a", "b"]) await ok(["enqueue", "--type", "t", "--id", id], around);
    await ok(["work", "--once"], around);
    await ok(["pause"], around);
    await cli(["work", "--drain"], around);
    expect(eventsAt(there)).toEqual([]);
    await ok(["resume"], around);
    await cli(["work", "--drain"], around);
    expect(eventsAt(there)).toEqual(["idle"]);
  });

  it("tells what happened while no process ran, and not what was before [[notify]]", async () => {
    const { there, around } = await project(HOOK);
    const claimAndEnd = async (id: string) => {
      await ok(["enqueue", "--type", "x", "--id", id, "--review"], around);
      const claims = await json<{ tasks: { token: string }[] }>(
        ["claim", "--worker", "w", "--types", "x"],
        around,
      );
      expect(claims).toBeDefined();
      await ok(["complete", id, "--worker", "w"], around);
    };
    await claimAndEnd("before");
    await cli(["work", "--drain"], around);
    expect(eventsAt(there)).toEqual([]);
    await claimAndEnd("between");
    await cli(["work", "--drain"], around);
    expect(eventsAt(there).sort()).toEqual(["idle", "review between"]);
  });

  it("tells each fact once with three workers at a time", { timeout: 60_000 }, async () => {
    const { there, around, folder } = await project(HOOK, { folder: onDisk() });
    const lines = Array.from({ length: 30 }, (_, i) => `{"type":"t","id":"t${i}","review":true}`);
    writeFileSync(join(folder, "tasks.jsonl"), lines.join("\n"));
    await ok(["enqueue", "--jsonl", "tasks.jsonl"], around);
    const workers = [1, 2, 3].map(
      (n) =>
        new Running(["work", "--drain", "--worker-id", `w${n}`], { cwd: folder, env: around.env }),
    );
    for (const worker of workers) expect((await worker.end()).status).toBe(0);
    // What was too much for a minute is told by the next.
    const sums = there.got.map(({ body }) => JSON.parse(body).counts.review ?? 0);
    const { messages } = await json<{ messages: { state: string }[] }>(["notify", "ls"], around);
    const left = messages.filter(({ state }) => state !== "sent");
    expect(left).toEqual([]);
    expect(sums.reduce((a, b) => a + b, 0)).toBe(30);
    const told = eventsAt(there).filter((one) => one.startsWith("review"));
    expect(new Set(told).size).toBe(told.length);
  });

  it("killed in the middle of a request leaves it unsure; it is sent again only by hand", {
    timeout: 60_000,
  }, async () => {
    const { there, around, folder } = await project(HOOK.replace(', "idle"', ""), {
      ...{ folder: onDisk(), answers: ["hang" as const] },
    });
    await ok(["enqueue", "--type", "t", "--id", "a", "--review"], around);
    const worker = new Running(["work"], { cwd: folder, env: around.env });
    await until("the request is there", () => there.got.length === 1);
    worker.child.kill("SIGKILL");
    await worker.end();
    there.answers = [{ status: 200 }];
    await cli(["work", "--drain"], around);
    expect(there.got).toHaveLength(1);
    const text = await ok(["notify", "ls"], around);
    expect(text).toMatch(/unsure +review-a-webhook-\w+ .*the process that sent it died/);
    const id = /review-a-webhook-\w+/.exec(text)?.[0] ?? "";
    expect(text).toContain(`viv notify retry ${id}`);
    // Not by itself, nor with the failed ones.
    expect(await ok(["notify", "retry"], around)).toBe("0 messages again, 0 sent\n");
    expect(await ok(["notify", "retry", id], around)).toBe("1 message again, 1 sent\n");
    expect(eventsAt(there)).toEqual(["review a", "review a"]);
  });

  it("takes up a [[notify]] that is added, renamed or misspelt while it runs", {
    timeout: 60_000,
  }, async () => {
    const { there, around, folder } = await project("", { folder: onDisk() });
    const file = join(folder, "viv.toml");
    const before = readFileSync(file, "utf8");
    const write = (name: string, event = "done") => {
      const target = `[[notify]]\nname = "${name}"\non = ["${event}"]\nwebhook = "URL/${name}"\n`;
      writeFileSync(file, before + target.replaceAll("URL", there.url));
    };
    const worker = new Running(["work"], { cwd: folder, env: around.env });
    await worker.says("waits for work");
    const told = async (id: string, name: string) => {
      const position = join(folder, "run/outbox/.position.json");
      const isKnown = () => existsSync(position) && readFileSync(position, "utf8").includes(name);
      await until(`${name} is known`, isKnown);
      // Not by a command: that would refuse the misspelt file.
      const store = await openRun(join(folder, "run"));
      await store.enqueue({ id, type: "t" });
      await store.close();
      await until(`${id} is told`, () => eventsAt(there).includes(`done ${id}`));
      return there.got.at(-1)?.path;
    };
    write("one");
    expect(await told("a", "one")).toBe("/one");
    write("two");
    expect(await told("b", "two")).toBe("/two");
    write("three", "reviews");
    await worker.says("the last good viv.toml still counts");
    expect(await told("c", "two")).toBe("/two");
  });

  it("goes on with its work when the service is down, and keeps the message", async () => {
    const { there, around } = await project(HOOK.replace('"idle"', '"done"'), {
      answers: [{ status: 500, body: "oops" }],
    });
    await ok(["enqueue", "--type", "t", "--id", "c"], around);
    expect((await cli(["work", "--drain"], around)).stdout).toMatch(/1 done/);
    const text = await ok(["notify", "ls"], around);
    expect(text).toMatch(/new +done-c-webhook-\w+ .*again in \d+s .*status 500: oops/);
    there.answers = [{ status: 404 }];
    const id = /done-c-webhook-\w+/.exec(text)?.[0] ?? "";
    await ok(["notify", "retry", id], around);
    expect(await ok(["notify", "ls"], around)).toMatch(/failed .*status 404/);
    there.answers = [{ status: 200 }];
    expect(await ok(["notify", "retry"], around)).toBe("1 message again, 1 sent\n");
  });
});

describe("viv notify", () => {
  it("test sends one to each, and says which did not arrive", async () => {
    const both = `${HOOK}\n[[notify]]\nname = "phone"\non = ["idle"]\nntfy = { topic = "t", server = "http://127.0.0.1:1" }`;
    const { there, around } = await project(both);
    const { status, stdout } = await cli(["notify", "test"], around);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^webhook +webhook +sent\nphone +ntfy +not sent +connect ECONNREFUSED/);
    expect(JSON.parse(there.got[0]?.body ?? "")).toMatchObject({ event: "test" });
    expect(await ok(["notify", "test", "webhook"], around)).toMatch(/sent/);
    const wrong = await cli(["notify", "test", "phon"], around);
    expect(wrong).toMatchObject({ status: 3 });
    expect(wrong.stderr).toContain("no [[notify]] has the name phon; did you mean phone?");
  });

  it("ls says that a message waits for the end of quiet hours", async () => {
    const hour = new Date().getHours();
    const quiet = `${(hour + 23) % 24}:00-${(hour + 3) % 24}:00`;
    const { there, around } = await project(`${HOOK}\nquiet = "${quiet}"`);
    await ok(["enqueue", "--type", "t", "--id", "a", "--review"], around);
    await cli(["work", "--drain"], around);
    expect(there.got).toEqual([]);
    const said = await ok(["notify", "ls"], around);
    expect(said).toMatch(/new +review-a-webhook-\w+ +in .* quiet hours\n/);
  });

  it("ls and retry say that the [[notify]] of a message is gone; after a day it has failed", async () => {
    const hour = new Date().getHours();
    const quiet = `quiet = "${(hour + 23) % 24}:00-${(hour + 3) % 24}:00"`;
    const { there, around, folder } = await project(`${HOOK}\n${quiet}`);
    const file = join(folder, "viv.toml");
    const whole = readFileSync(file, "utf8");
    const outbox = join(folder, "run/outbox");
    const waiting = () => readdirSync(join(outbox, "new"));
    await ok(["enqueue", "--type", "t", "--id", "a"], around);
    await ok(["work", "--drain"], around);
    expect(waiting()).toHaveLength(1);
    writeFileSync(file, whole.slice(0, whole.indexOf("[[notify]]")));
    await ok(["work", "--drain"], around);
    expect(await ok(["notify", "ls"], around)).toContain(
      "viv.toml has no [[notify]] with the name webhook; a day without one, and it fails",
    );
    // Two days later.
    const [name = ""] = waiting();
    const message = JSON.parse(readFileSync(join(outbox, "new", name), "utf8"));
    const ago = (days: number) => Date.now() - days * 86_400_000;
    const entered = new Date(ago(3)).toISOString();
    writeFileSync(join(outbox, "new", name), JSON.stringify({ ...message, entered }));
    const pace = JSON.parse(readFileSync(join(outbox, ".pace.json"), "utf8"));
    expect(Date.now() - pace.webhook.lost).toBeLessThan(86_400_000);
    pace.webhook.lost = ago(2);
    writeFileSync(join(outbox, ".pace.json"), JSON.stringify(pace));
    await ok(["work", "--drain"], around);
    expect(waiting()).toEqual([]);
    const reason = "for a day, viv.toml had no [[notify]] with the name webhook";
    expect(await ok(["notify", "ls"], around)).toContain(reason);
    const left = await cli(["notify", "retry"], around);
    expect(left.stdout).toBe("0 messages again, 0 sent\n");
    expect(left.stderr).toContain("no [[notify]] with the name webhook: its messages were left");
    expect(readdirSync(join(outbox, "failed"))).toEqual([name]);
    writeFileSync(file, whole.replace(quiet, ""));
    expect(await ok(["notify", "retry"], around)).toBe("1 message again, 1 sent\n");
    expect(eventsAt(there)).toEqual(["idle"]);
  });

  it("needs neither a run nor a target to be asked", async () => {
    const around = { cwd: newFolder(), env: { VIV_STATE: "state" } };
    expect(await ok(["notify", "ls"], around)).toBe("no [[notify]] in viv.toml, and no message\n");
    const none = await cli(["notify", "test"], around);
    expect(none.stderr).toMatch(/there is no viv.toml here; add one with on = \["review"\]/);
    const gone = await cli(["notify", "retry", "no-such"], around);
    expect(gone.stderr).toMatch(/no message is called no-such/);
  });
});

describe("rooms without a run", () => {
  it("a crew tells of a member that is parked, once a day for its reason", async () => {
    const { there, folder } = await project('[[notify]]\non = ["parked"]\nwebhook = "URL"');
    writeFileSync(
      join(folder, "crew.org"),
      "#+TITLE: crew\n* moss\n:PROPERTIES:\n:DEF: no-such.md\n:INTERVAL: 1h\n:END:\n",
    );
    const env = { VIV_STATE: join(folder, "state") };
    for (const n of [1, 2]) {
      const crew = new Running(["crew", "up", "crew.org", "--grace", "0s"], { cwd: folder, env });
      await crew.says(/moss is parked/);
      await until("it is told", () => there.got.length === 1);
      crew.child.kill("SIGTERM");
      await crew.end();
      expect(
        there.got.map(({ body }) => body),
        `start ${n}`,
      ).toHaveLength(1);
    }
    expect(JSON.parse(there.got[0]?.body ?? "").title).toMatch(
      /^viv crew viv-test-\w+: parked moss$/,
    );
    expect(viv(["notify", "ls"], { cwd: folder, env }).stdout).toMatch(/sent +parked-moss-webhook/);
  });
});
