import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { newRun } from "../../test/support/new-run.ts";
import type { Store } from "../queue/store.ts";
import type { Target } from "./config.ts";
import { Intake } from "./intake.ts";
import { MESSAGE_STATES, type Said } from "./message.ts";
import type { News } from "./news.ts";
import { outboxIn } from "./outbox-files.ts";
import type { Attempted } from "./plan.ts";
import { runSource } from "./run-source.ts";
import { Sender } from "./sender.ts";

const target = (more: Partial<Target> = {}): Target => ({
  ...{ name: "t", on: ["review", "failed", "idle", "parked"], way: { kind: "desktop" } },
  ...more,
});

/** One process with an outbox: what it delivers is in `said`. */
function processOn(
  folder: string,
  options: { store?: Store; targets?: Target[]; now?: number } = {},
) {
  const { store, targets = [target()], now: begun = Date.now() } = options;
  const clock = { now: begun };
  const said: Said[] = [];
  const answers: Attempted[] = [];
  const files = outboxIn(join(folder, "outbox"));
  const isDrained = async () => {
    const { pending, claimed } = (await store?.counts()) ?? { pending: 0, claimed: 0 };
    return pending + claimed === 0;
  };
  const now = () => clock.now;
  const source = store && runSource(store, isDrained, now);
  const intake = new Intake(files, { place: "run", targets: () => targets, now, source });
  const sender = new Sender(files, {
    ...{ targets: () => targets, now, random: () => 1, knowsAll: true },
    deliver: async (_, what) => {
      said.push(what);
      return answers.shift() ?? { kind: "sent" };
    },
  });
  return { clock, said, answers, files, intake, sender };
}

function states(folder: string): Record<string, number> {
  const counts = MESSAGE_STATES.map((state) => {
    const names = readdirSync(join(folder, "outbox", state));
    return [state, names.filter((name) => name.endsWith(".json")).length] as const;
  });
  return Object.fromEntries(counts.filter(([, n]) => n > 0));
}

const news = (fact: string, more: Partial<News> = {}): News => ({
  ...{
    fact,
    event: "parked",
    at: new Date(Date.now() + 60_000).toISOString(),
    text: fact,
    ...more,
  },
});

async function review(store: Store, id: string): Promise<void> {
  await store.enqueue({ id, type: "t", review: true });
  const [claim] = await store.claim({ worker: "w" });
  if (claim) await store.complete({ id: claim.id, worker: "w", token: claim.token });
}

describe("an outbox", () => {
  it("begins with what happens from now on, and goes on where any process stopped", async () => {
    const { store, path } = await newRun();
    await review(store, "before");
    const one = processOn(path, { store });
    await one.intake.take();
    await review(store, "a");
    // No process ran meanwhile.
    const two = processOn(path, { store });
    expect(await two.intake.take()).toMatchObject({ entered: 2 }); // it, and that all is done
    expect(await one.intake.take()).toEqual({ entered: 0, againMs: undefined });
    await one.sender.pass();
    await two.sender.pass();
    const titles = [...one.said, ...two.said].map(({ title }) => title);
    expect(titles).toEqual(["viv run: review a", "viv run: idle"]);
    await store.close();
  });

  it("begins a new target with what happens from then on", async () => {
    const { store, path } = await newRun();
    await processOn(path, { store }).intake.take();
    await review(store, "a");
    const targets = [target(), target({ name: "new" })];
    const both = processOn(path, { store, targets, now: Date.now() + 1 });
    await both.intake.take();
    const told = both.files.messages("new").map(({ target, items }) => [target, items[0]?.event]);
    expect(told.sort()).toEqual([
      ["new", "idle"], // which is so now
      ["t", "idle"],
      ["t", "review"],
    ]);
    await store.close();
  });

  it("enters a fact once, in however many processes it is seen at once", async () => {
    const folder = newFolder();
    const all = Array.from({ length: 4 }, () => processOn(folder));
    await Promise.all(all.map(({ intake }) => intake.enter(news("f"))));
    await Promise.all(all.map(({ sender }) => sender.pass()));
    await Promise.all(all.map(({ intake }) => intake.enter(news("f"))));
    await Promise.all(all.map(({ sender }) => sender.pass()));
    expect(all.flatMap(({ said }) => said)).toHaveLength(1);
    expect(states(folder)).toEqual({ sent: 1 });
  });

  it("does not send again what was entered again while it was sent", async () => {
    const folder = newFolder();
    const { intake, sender, files, said } = processOn(folder);
    await intake.enter(news("f"));
    const [id = ""] = files.ids("new");
    const text = readFileSync(join(folder, "outbox/new", `${id}.json`));
    await sender.pass();
    // The other process looked before, and wrote after.
    writeFileSync(join(folder, "outbox/new", `${id}.json`), text);
    await sender.pass();
    expect(said).toHaveLength(1);
    expect(states(folder)).toEqual({ sent: 1 });
  });

  it("tells once that nothing is left to do, and again after more work", async () => {
    const { store, path } = await newRun();
    const one = processOn(path, { store, targets: [target({ on: ["idle"] })] });
    await one.intake.take();
    await review(store, "a");
    await one.intake.take();
    await one.intake.take(true);
    await store.enqueue({ id: "b", type: "t" });
    await one.intake.take();
    const [claim] = await store.claim({ worker: "w" });
    await one.intake.take();
    expect(one.files.ids("new")).toHaveLength(1);
    await store.complete({ id: "b", worker: "w", token: claim?.token });
    await one.intake.take();
    expect(one.files.ids("new")).toHaveLength(2);
    await store.close();
  });

  it("does not tell of a review that is over, nor of another type", async () => {
    const { store, path } = await newRun();
    const on = ["review"] as const;
    const one = processOn(path, { store, targets: [target({ on, types: ["other"] })] });
    const two = processOn(path, { store, targets: [target({ on })] });
    await one.intake.take();
    await review(store, "a");
    await review(store, "b");
    await store.approve("a");
    await two.intake.take();
    expect(two.files.messages("new").map(({ items }) => items[0]?.subject)).toEqual(["b"]);
    await store.enqueue({ id: "c", type: "other", review: true });
    const [claim] = await store.claim({ worker: "w" });
    await store.complete({ id: "c", worker: "w", token: claim?.token });
    await one.intake.take();
    expect(one.files.messages("new").map(({ items }) => items[0]?.subject)).toEqual(["b", "c"]);
    await store.close();
  });

  it("makes one message of ten thousand events, and a request of all that waits", async () => {
    const folder = newFolder();
    const all = Array.from({ length: 10_000 }, (_, i) => news(`f${i}`));
    const { files, clock } = processOn(folder);
    const source = {
      read: async () => ({ news: all.splice(0, 5_000), position: {}, isIdle: true }),
    };
    const intake = new Intake(files, {
      ...{ place: "run", targets: () => [target()], now: () => clock.now, source },
    });
    const { sender, said } = processOn(folder);
    await intake.take();
    await intake.take();
    await sender.pass();
    expect(said.map(({ total, title }) => [total, title])).toEqual([
      [5_000, "viv run: 5000 parked"],
      [5_000, "viv run: 5000 parked"],
    ]);
    expect(said[0]?.items).toHaveLength(20);
    for (let i = 0; i < 30; i++) await intake.enter(news(`more${i}`));
    await sender.pass();
    expect(said.slice(2).map(({ total }) => total)).toEqual([30]);
    expect(states(folder)).toEqual({ sent: 32 });
  });

  it("tries again what may arrive later, and holds back the rest of that target", async () => {
    const folder = newFolder();
    const one = processOn(folder, { targets: [target(), target({ name: "u" })] });
    one.answers.push({ kind: "again", reason: "status 500" }, { kind: "sent" });
    await one.intake.enter(news("f"));
    await one.intake.enter(news("g"));
    const { next } = await one.sender.pass();
    expect(states(folder)).toEqual({ new: 2, sent: 2 });
    expect(next).toBe(one.clock.now + 5_000);
    // Another process goes on.
    const two = processOn(folder, { targets: [target(), target({ name: "u" })] });
    two.clock.now = (next ?? 0) - 1;
    await two.sender.pass();
    expect(two.said).toEqual([]);
    two.clock.now = next ?? 0;
    await two.sender.pass();
    expect(two.said).toHaveLength(2);
    expect(states(folder)).toEqual({ sent: 4 });
  });

  it("keeps what failed or is unsure with its reason, and forgets old ones", async () => {
    const folder = newFolder();
    const { intake, sender, answers, files, clock } = processOn(folder);
    answers.push(
      { kind: "refused", reason: "status 404" },
      { kind: "unsure", reason: "no answer" },
    );
    await intake.enter(news("f", { at: new Date(Date.now() + 1000).toISOString() }));
    await intake.enter(news("g"));
    await intake.enter(news("h"));
    await sender.pass();
    expect(states(folder)).toEqual({ sent: 1, failed: 1, unsure: 1 });
    expect(files.messages("failed")[0]).toMatchObject({ reason: "status 404", tries: 1 });
    expect(files.messages("unsure")[0]).toMatchObject({ reason: "no answer", tries: 1 });
    clock.now += 8 * 86_400_000;
    const [before] = files.ids("sent");
    await intake.enter(news("later", { at: new Date(clock.now).toISOString() }));
    await sender.pass();
    expect(states(folder)).toEqual({ sent: 1, failed: 1, unsure: 1 });
    expect(files.ids("sent")).not.toContain(before);
  });

  it("fails what a target that is gone for a day has waiting, and not what comes back before", async () => {
    const folder = newFolder();
    const targets = [target({ digestMs: 1_000 })];
    const { intake, sender, files, clock, said } = processOn(folder, { targets });
    const day = 86_400_000;
    await intake.enter(news("f"));
    const [gone] = targets.splice(0);
    expect(await sender.pass()).toMatchObject({ next: clock.now + day });
    clock.now += day - 1;
    await sender.pass();
    targets.push(gone as Target);
    await sender.pass();
    expect(states(folder)).toEqual({ sent: 1 });
    // Once more, and for long. That no process has run meanwhile changes nothing.
    await intake.enter(news("g", { at: new Date(clock.now).toISOString() }));
    targets.splice(0);
    await sender.pass();
    clock.now += 5 * day;
    targets.push(gone as Target);
    await intake.enter(news("h", { at: new Date(clock.now + 1).toISOString() }));
    clock.now += 2_000;
    await sender.pass();
    expect(states(folder)).toEqual({ sent: 2, failed: 1 });
    expect(said.flatMap(({ items }) => items.map(({ text }) => text))).toEqual(["f", "h"]);
    expect(files.messages("failed")).toMatchObject([
      { items: [{ fact: "g" }], reason: "for a day, viv.toml had no [[notify]] with the name t" },
    ]);
  });

  it("leaves messages of other senders alone", async () => {
    const folder = newFolder();
    const { intake, files, clock } = processOn(folder, { targets: [target()] });
    await intake.enter(news("f"));
    const other = new Sender(files, {
      ...{ targets: () => [], now: () => clock.now, random: () => 1 },
      deliver: async () => ({ kind: "sent" }),
    });
    await other.pass();
    clock.now += 2 * 86_400_000;
    await other.pass();
    expect(states(folder)).toEqual({ new: 1 });
  });

  it("sends nothing, and is unsure of nothing, where the disk takes no more", async () => {
    const folder = newFolder();
    const { intake, sender, said } = processOn(folder);
    await intake.enter(news("f"));
    const inTheWay = join(folder, "outbox/.pace.json/x");
    mkdirSync(inTheWay, { recursive: true });
    await expect(sender.pass()).rejects.toThrow();
    expect(states(folder)).toEqual({ new: 1 });
    rmSync(join(inTheWay, ".."), { recursive: true });
    await sender.pass();
    expect([states(folder), said.length]).toEqual([{ sent: 1 }, 1]);
  });

  it("leaves files alone that are none of its own, and begins anew without its position", async () => {
    const { store, path } = await newRun();
    const one = processOn(path, { store });
    await one.intake.take();
    await review(store, "a");
    await one.intake.take();
    const outbox = join(path, "outbox");
    writeFileSync(join(outbox, "new/foreign.json"), "{}");
    writeFileSync(join(outbox, "new/half.json"), '{"id": "ha');
    mkdirSync(join(outbox, "new/folder.json"));
    writeFileSync(join(outbox, ".position.json"), "");
    writeFileSync(join(outbox, ".pace.json"), "[1");
    utimesSync(join(outbox, "new/half.json"), 1, 1);
    await one.intake.take();
    await one.sender.pass();
    expect(one.said).toHaveLength(2);
    expect(one.files.ids("new")).toEqual(["folder", "foreign", "half"]);
    await store.close();
  });
});
