import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { until, within } from "../../test/support/deadline.ts";
import { newFolder } from "../../test/support/folders.ts";
import { FakeHost } from "../../test/support/machine.ts";
import { machineGate } from "./machine-gate.ts";
import { gateFilesIn } from "./ticket-files.ts";

/** Several processes of one machine, all in this one. */

let folder: string;
let host: FakeHost;

beforeEach(() => {
  folder = join(newFolder(), "gate");
  host = new FakeHost();
});

function process(machine = host.process()) {
  const gate = machineGate(gateFilesIn(folder), machine, 20);
  return { ...gate, machine, die: () => machine.die() };
}

const tickets = () => readdirSync(join(folder, "tickets")).map((name) => name[0]);
const names = (list: { name: string }[]) => list.map(({ name }) => name);

describe("the machine's gate", () => {
  test("without a maximum there is no limit, and nothing is written", async () => {
    const one = process();
    expect(one.room()).toBeNull();
    (await one.acquire({ name: "a" }))();
    expect(one.view()).toEqual({ max: null, holders: [], queue: [] });
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  });

  test("a request that fails after it has joined the line leaves no ticket", async () => {
    await process().setMax(1);
    const files = gateFilesIn(folder);
    const hold = () => {
      throw new Error("not today");
    };
    const locked: typeof files.locked = (act) => files.locked((gate) => act({ ...gate, hold }));
    const gate = machineGate({ ...files, locked }, host.process());
    await expect(gate.acquire({ name: "a" })).rejects.toThrow("not today");
    expect(tickets()).toEqual([]);
  });

  test("a slot goes from one process to the one that came first", async () => {
    const [one, two, three] = [process(), process(), process()];
    await one.setMax(1);
    const release = await one.acquire({ name: "one" });
    const second = two.acquire({ name: "two" });
    const third = three.acquire({ name: "three" });
    await until("both wait", () => one.view().queue.length === 2);
    host.advance(60_000);
    expect(three.view()).toMatchObject({
      max: 1,
      holders: [{ name: "one", pid: one.machine.self().pid }],
      queue: [
        { name: "two", priority: "normal", waiting_ms: 60_000 },
        { name: "three", priority: "normal" },
      ],
    });
    expect(one.room()).toBe(0);
    release();
    release();
    // It goes to the head of the line: a later request comes after it, whatever its priority.
    const last = one.acquire({ name: "last", priority: "high" });
    const leaveSecond = await within("the second is in", second);
    await until("the last waits", () => one.view().queue.length === 2);
    expect(names(one.view().holders)).toEqual(["two"]);
    leaveSecond();
    const leaveLast = await within("the last is in", last);
    expect(names(one.view().holders)).toEqual(["last"]);
    leaveLast();
    (await within("the third is in", third))();
    await until("no ticket is left", () => tickets().length === 0);
    expect(one.room()).toBe(1);
  });

  test("no later request passes one that has waited for ten minutes", async () => {
    const one = process();
    await one.setMax(1);
    const release = await one.acquire({ name: "in" });
    const low = one.acquire({ name: "low", priority: "low" });
    await until("it waits", () => one.view().queue.length === 1);
    host.advance(600_000);
    void one.acquire({ name: "high", priority: "high" }).catch(() => {});
    await until("both wait", () => one.view().queue.length === 2);
    release();
    (await within("the low one is in", low))();
  });

  test("slots of dead holders come back, dead waiters get none", async () => {
    const [one, two, three] = [process(), process(), process()];
    await one.setMax(1);
    await one.acquire({ name: "one" });
    void two.acquire({ name: "two" }).catch(() => {});
    const third = three.acquire({ name: "three" });
    await until("both wait", () => three.view().queue.length === 2);
    two.die();
    one.die();
    (await within("the third is in", third))();
    await until("no ticket is left", () => tickets().length === 0);
  });

  test("a waiter finds dead holders by itself", async () => {
    const [one, two] = [process(), process()];
    await one.setMax(1);
    await one.acquire({ name: "one" });
    expect(two.room()).toBe(0);
    one.die();
    expect(two.room()).toBe(1);
    (await two.acquire({ name: "two" }))();
  });

  test("after a reboot all tickets are old", async () => {
    const one = process();
    await one.setMax(1);
    await one.acquire({ name: "one" });
    host.reboot();
    const two = process();
    expect(two.room()).toBe(1);
    await two.acquire({ name: "two" });
    expect(names(two.view().holders)).toEqual(["two"]);
  });

  test("an aborted waiter leaves no ticket; also when it was just let in", async () => {
    const [one, two] = [process(), process()];
    await one.setMax(1);
    const release = await one.acquire({ name: "one" });
    const stop = new AbortController();
    const waits = two.acquire({ name: "two", signal: stop.signal });
    await until("it waits", () => one.view().queue.length === 1);
    stop.abort(new Error("enough"));
    await expect(waits).rejects.toThrow("enough");
    expect(tickets()).toEqual(["h"]);
    const again = new AbortController();
    const entered = two.acquire({ name: "two", signal: again.signal }).catch(() => "gave up");
    await until("it waits", () => one.view().queue.length === 1);
    release();
    // As soon as it holds the slot, whether it knows that yet or not.
    await until("it was let in", () => names(one.view().holders).includes("two"));
    again.abort(new Error("enough"));
    const leave = await within("it has seen either", entered);
    if (typeof leave === "function") leave();
    await until("no ticket is left", () => tickets().length === 0);
    await expect(two.acquire({ name: "two", signal: stop.signal })).rejects.toThrow("enough");
  });

  test("the maximum changes while others wait; a lower one stops no holder", async () => {
    const [one, two] = [process(), process()];
    await one.setMax(1);
    const releases = [await one.acquire({ name: "a" })];
    const waiting = ["b", "c", "d"].map((name) => one.acquire({ name }));
    await until("all wait", () => one.view().queue.length === 3);
    await two.setMax(3);
    releases.push(...(await within("two more are in", Promise.all(waiting.slice(0, 2)))));
    await two.setMax(2);
    expect(two.view()).toMatchObject({ max: 2, holders: [{}, {}, {}], queue: [{ name: "d" }] });
    releases[0]?.();
    await until("it has left", () => two.view().holders.length === 2);
    expect(names(two.view().queue)).toEqual(["d"]);
    await two.setMax(null);
    await within("no limit", Promise.all(waiting));
    expect(two.room()).toBeNull();
  });

  test("tickets of another machine are left alone, and count for nothing", async () => {
    const one = process();
    await one.setMax(1);
    await one.acquire({ name: "one" });
    const two = process();
    const elsewhere = { ...two.machine.self(), host: "elsewhere" };
    const foreign = machineGate(gateFilesIn(folder), {
      ...two.machine,
      self: () => elsewhere,
      vitality: ({ host }) => (host === "elsewhere" ? "alive" : "unknown"),
    });
    await foreign.acquire({ name: "foreign" });
    expect(tickets()).toEqual(["h", "h"]);
    expect(names(one.view().holders)).toEqual(["one"]);
    one.die();
    await process().acquire({ name: "three" });
    expect(tickets()).toEqual(["h", "h"]);
  });

  test("unreadable tickets are removed, other machines' are left", async () => {
    const one = process();
    await one.setMax(1);
    writeFileSync(join(folder, "tickets/h-000000000001-0123456789ab"), "");
    writeFileSync(join(folder, "tickets/w-000000000002-0123456789ab"), '{"name":3}');
    writeFileSync(join(folder, "tickets/README"), "");
    (await one.acquire({ name: "one" }))();
    const left = () => readdirSync(join(folder, "tickets")).join();
    await until("only what is no ticket is left", () => left() === "README");
  });

  test("a waiter whose ticket was removed joins the line again", async () => {
    const one = process();
    await one.setMax(1);
    const release = await one.acquire({ name: "one" });
    const second = one.acquire({ name: "two" });
    await until("it waits", () => one.view().queue.length === 1);
    rmSync(join(folder, "tickets"), { recursive: true });
    (await within("the second is in", second))();
    release();
    await until("no ticket is left", () => tickets().length === 0);
  });

  test("an unreadable maximum is no limit, and is reported", async () => {
    const one = process();
    mkdirSync(folder);
    for (const text of ["three", "0", "-1", "1.5", ""]) {
      writeFileSync(join(folder, "max"), text);
      expect(one.view(), text).toMatchObject({ max: null, trouble: expect.stringMatching(/anew/) });
    }
    writeFileSync(join(folder, "max"), " 2\n");
    expect(one.view()).toEqual({ max: 2, holders: [], queue: [] });
    (await one.acquire({ name: "one" }))();
  });

  test.skipIf(globalThis.process.getuid?.() === 0)(
    "names the file that cannot be written",
    async () => {
      const one = process();
      await one.setMax(1);
      chmodSync(join(folder, "tickets"), 0o500);
      await expect(one.acquire({ name: "one" })).rejects.toMatchObject({ code: "READ_ONLY" });
      chmodSync(join(folder, "tickets"), 0o700);
    },
  );
});
