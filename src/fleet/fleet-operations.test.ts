import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { FakeHost } from "../../test/support/machine.ts";
import { type Context, runPlacePort } from "../operation/operation.ts";
import { fleetFilesIn } from "./fleet-files.ts";
import { down } from "./fleet-operations.ts";
import { type FleetPort, fleetPort } from "./fleet-ports.ts";
import { upFilesIn } from "./up-files.ts";
import { upPort } from "./up-ports.ts";

/** A supervisor that only counts signals; the test says when it hears them, and when it is gone. */
function supervised() {
  const run = newFolder();
  const world = new FakeHost();
  const up = world.process();
  const files = fleetFilesIn(run);
  mkdirSync(files.folder, { recursive: true });
  const is = (state: "working" | "stopping", at_once = false) =>
    files.write({
      ...{ ...up.self(), state, at_once, since: "", run, config: null, note: "", parts: [] },
    });
  is("working");
  const signals: string[] = [];
  const left = world.process().self();
  const leave = () =>
    files.write({
      ...{ ...up.self(), state: "stopped", since: "", run, config: null, note: "" },
      parts: [],
      left: [
        {
          ...{ name: "worker-1", kind: "worker", state: "working", process: left },
          ...{ since: "", restarts: 0, doing: "t.1", note: "" },
        },
      ],
    });
  let looks: (() => void)[] = [];
  const fleet: Partial<FleetPort> = {
    ...{ filesIn: fleetFilesIn, machine: world.process() },
    ...{ knownRuns: () => [], startedWith: () => null },
    ask: (pid, signal) =>
      signals.push(pid === up.self().pid ? signal : `${signal} ${pid === left.pid ? "left" : pid}`),
    timers: {
      after: (_, act) => {
        looks.push(act);
        return () => {};
      },
    },
  };
  const ports = new Map<unknown, unknown>([
    [fleetPort, fleet],
    [upPort, { filesIn: upFilesIn, readText: () => "" }],
    [runPlacePort, { path: run, from: "--run" }],
  ]);
  const never = new AbortController().signal;
  const context = {
    ...{ now: Date.now, here: { cwd: run, env: {} }, signal: never, urgent: never },
    use: async (port: unknown) => ports.get(port),
  } as unknown as Context;
  const silences: number[] = [];
  const lookAll = () => {
    const due = looks;
    looks = [];
    for (const act of due) act();
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ up, is, leave, left, signals, silences, takeTurn: files.takeTurn },
    pass: (ms: number) => world.advance(ms),
    endLeft: () => world.endProcess(left.pid),
    down: async (now: boolean) => {
      for await (const event of down.stream(context, { now }))
        if (event.kind === "silent") silences.push(event.seconds);
    },
    end: () => world.endProcess(up.self().pid),
    /** All of so many have looked, and look again. */
    look: async (count: number) => {
      while (looks.length < count) await turn();
      lookAll();
    },
    lookUntil: async (over: Promise<unknown>) => {
      let isOver = false;
      const end = () => {
        isOver = true;
      };
      over.then(end, end);
      for (; !isOver; await turn()) lookAll();
      await over;
    },
  };
}

describe("viv down, several at the same moment", () => {
  it.each([
    [false, ["SIGTERM"]],
    [true, ["SIGTERM", "SIGINT"]],
  ])("count as one (now: %s)", async (now, expected) => {
    const { is, signals, down, look, end } = supervised();
    const both = Promise.all([down(now), down(now)]);
    await look(2);
    await look(2);
    expect(signals).toEqual(["SIGTERM"]);
    is("stopping");
    await look(2);
    await look(2);
    expect(signals).toEqual(expected);
    is("stopping", now);
    await look(2);
    await look(2);
    expect(signals).toEqual(expected);
    end();
    await look(2);
    await both;
  });

  it.each([false, true])("say once that it does not react, and wait (now: %s)", async (now) => {
    const { signals, silences, down, look, lookUntil, pass, end } = supervised();
    const waits = down(now);
    await look(1);
    pass(21_000);
    await look(1);
    await look(1);
    pass(21_000);
    await look(1);
    await look(1);
    expect(silences).toEqual([21]);
    expect(signals).toEqual(["SIGTERM"]);
    end();
    await lookUntil(waits);
  });

  it("wait for begun work however long it takes, and after the second signal for 90 s", async () => {
    const { is, silences, down, look, lookUntil, pass, end } = supervised();
    is("stopping");
    const waits = down(false);
    await look(1);
    pass(3_600_000);
    await look(1);
    await look(1);
    is("stopping", true);
    expect(silences).toEqual([]);
    const both = Promise.all([waits, down(true)]);
    await look(2);
    pass(91_000);
    await look(2);
    await look(2);
    expect(silences).toEqual([91]);
    end();
    await lookUntil(both);
  });

  it("end what is left over once, and kill it at last", async () => {
    const { leave, left, signals, down, look, pass, endLeft } = supervised();
    leave();
    const waits = down(false);
    const both = [down(true), down(true)];
    await look(3);
    await look(3);
    expect(signals).toEqual(["SIGTERM left"]);
    pass(31_000);
    await look(3);
    await look(3);
    expect(new Set(signals.slice(1))).toEqual(new Set([`SIGKILL ${-left.pid}`]));
    endLeft();
    await look(3);
    await Promise.all([waits, ...both]);
  });

  it("the next one asks when the first has died before it could", async () => {
    const { is, signals, down, look, end, takeTurn } = supervised();
    const turn = await takeTurn();
    const one = down(false);
    await look(1);
    await look(1);
    expect(signals).toEqual([]);
    turn?.release();
    await look(1);
    await look(1);
    expect(signals).toEqual(["SIGTERM"]);
    is("stopping");
    end();
    await look(1);
    await one;
  });
});
