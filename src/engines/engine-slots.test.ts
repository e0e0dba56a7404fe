import { describe, expect, test } from "vitest";
import { FakeHost } from "../../test/support/machine.ts";
import { gateInMemory } from "../gate/gate.ts";
import type { MachineGate } from "../gate/machine-gate.ts";
import { engineSlots } from "./engine-slots.ts";

/** A gate in memory, with a line that can be read. */
function machine(max: number | null) {
  const gate = gateInMemory({ max, clock: new FakeHost().clock });
  const room = () => {
    const { max, holders, queue } = gate.view();
    return max === null ? null : Math.max(0, max - holders.length - queue.length);
  };
  const names = () => {
    const { holders, queue } = gate.view();
    return [holders, queue].map((list) => list.map(({ name }) => name));
  };
  const slots = engineSlots({ ...gate, room } as unknown as MachineGate, "w1");
  return { gate, slots, names };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a worker's slots", () => {
  test("no limit, or as many as are free", async () => {
    expect(machine(null).slots.room()).toBeNull();
    const { slots, names } = machine(2);
    expect(slots.room()).toBe(2);
    const release = await slots.take({ priority: "low" });
    expect([slots.room(), names()]).toEqual([1, [["w1"], []]]);
    release();
    expect(slots.room()).toBe(2);
  });

  test("stands in line once, and has the slot in hand for the next attempt", async () => {
    const { gate, slots, names } = machine(1);
    const leave = await gate.acquire({ name: "other" });
    const called: string[] = [];
    slots.standInLine(() => void called.push("first"));
    slots.standInLine(() => void called.push("second"));
    expect(names()).toEqual([["other"], ["w1"]]);
    expect(slots.inHand()).toBeUndefined();
    leave();
    await settled();
    expect([called, slots.room()]).toEqual([["second"], 1]);
    expect(slots.inHand()).toBeDefined();
    const release = await slots.take({});
    expect([slots.inHand(), slots.room(), names()]).toEqual([undefined, 0, [["w1"], []]]);
    release();
    expect(names()).toEqual([[], []]);
  });

  test("gives back an unused slot, and leaves the line", async () => {
    const { gate, slots, names } = machine(1);
    const leave = await gate.acquire({ name: "other" });
    slots.standInLine(() => {});
    leave();
    await settled();
    slots.giveBack();
    slots.giveBack();
    expect(names()).toEqual([[], []]);
    const again = await gate.acquire({ name: "other" });
    slots.standInLine(() => {});
    slots.giveBack(); // it stays in line
    expect(names()).toEqual([["other"], ["w1"]]);
    slots.leave();
    expect(names()).toEqual([["other"], []]);
    // Let in just before it left: the slot is released.
    slots.standInLine(() => {});
    again();
    slots.leave();
    await settled();
    expect([names(), slots.inHand()]).toEqual([[[], []], undefined]);
  });

  test("a gate that fails wakes no worker, and is tried again", async () => {
    let asked = 0;
    const broken = {
      room: () => 0,
      acquire: async () => {
        asked++;
        throw new Error("no space");
      },
    } as unknown as MachineGate;
    const slots = engineSlots(broken, "w1");
    slots.standInLine(() => expect.unreachable());
    await settled();
    slots.standInLine(() => expect.unreachable());
    await settled();
    expect(asked).toBe(2);
    await expect(slots.take({})).rejects.toThrow("no space");
  });
});
