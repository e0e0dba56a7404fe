import type { GateRequest, Release } from "../gate/gate.ts";
import type { MachineGate } from "../gate/machine-gate.ts";

export type EngineSlots = ReturnType<typeof engineSlots>;

/** A worker's side of the machine's gate: a slot first, then the claim that needs it. */
export function engineSlots(gate: MachineGate, worker: string) {
  let inHand: Release | undefined;
  let standing: { stop: AbortController; onSlot: () => void } | undefined;

  /** After an empty claim. */
  const giveBack = () => {
    inHand?.();
    inHand = undefined;
  };
  const wait = async (stop: AbortController) => {
    let release: Release | undefined;
    try {
      release = await gate.acquire({ name: worker, signal: stop.signal });
    } catch {
      // It left the line; or the gate failed, and the worker's next poll tries again.
    }
    if (standing?.stop !== stop) return release?.(); // it left meanwhile
    const { onSlot } = standing;
    standing = undefined;
    if (release === undefined) return;
    inHand = release;
    onSlot();
  };

  return {
    /** Free slots for engines; null: no limit. */
    room(): number | null {
      const free = gate.room();
      return free === null ? null : free + (inHand ? 1 : 0);
    },
    /** A slot that is held for the next claim. */
    inHand: (): Release | undefined => inHand,
    /** For an attempt: the slot in hand, or else one of the gate. */
    async take(request: Omit<GateRequest, "name">): Promise<Release> {
      const release = inHand;
      inHand = undefined;
      return release ?? gate.acquire({ ...request, name: worker });
    },
    /** Waits in line for one slot, once; calls back when it is in hand. */
    standInLine(onSlot: () => void): void {
      if (inHand) {
        onSlot();
        return;
      }
      if (standing) {
        standing.onSlot = onSlot;
        return;
      }
      const stop = new AbortController();
      standing = { stop, onSlot };
      void wait(stop);
    },
    giveBack,
    /** Gives back, and leaves the line. */
    leave(): void {
      standing?.stop.abort();
      standing = undefined;
      giveBack();
    },
  };
}
