import type { GateRequest, Release } from "../gate/gate.ts";
import type { MachineGate } from "../gate/machine-gate.ts";

/** A worker's side of the machine's gate: a slot first, then the claim that needs it. */
export interface EngineSlots {
  /** For how many engines there is room now; null: no limit. */
  room(): number | null;
  /** A slot that is held for the next claim. */
  inHand(): Release | undefined;
  /** For an attempt: the slot in hand, or else one of the gate. */
  take(request: Omit<GateRequest, "name">): Promise<Release>;
  /** Stands in line for one slot, if it does not yet; calls back when it is in hand. */
  standInLine(onSlot: () => void): void;
  /** There was nothing to claim for it. */
  giveBack(): void;
  /** The same, and no longer stands in line. */
  leave(): void;
}

export function engineSlots(gate: MachineGate, worker: string): EngineSlots {
  let inHand: Release | undefined;
  let standing: { stop: AbortController; onSlot: () => void } | undefined;

  const giveBack = () => {
    inHand?.();
    inHand = undefined;
  };
  const wait = async (stop: AbortController) => {
    let release: Release | undefined;
    try {
      release = await gate.acquire({ name: worker, signal: stop.signal });
    } catch {
      // Told to leave; or the gate cannot be used, and then it is tried again at the next look.
    }
    if (standing?.stop !== stop) return release?.(); // it has left meanwhile
    const { onSlot } = standing;
    standing = undefined;
    if (release === undefined) return;
    inHand = release;
    onSlot();
  };

  return {
    room() {
      const free = gate.room();
      return free === null ? null : free + (inHand ? 1 : 0);
    },
    inHand: () => inHand,
    async take(request) {
      const release = inHand;
      inHand = undefined;
      return release ?? gate.acquire({ ...request, name: worker });
    },
    standInLine(onSlot) {
      if (inHand) return onSlot();
      if (standing) {
        standing.onSlot = onSlot;
        return;
      }
      const stop = new AbortController();
      standing = { stop, onSlot };
      void wait(stop);
    },
    giveBack,
    leave() {
      standing?.stop.abort();
      standing = undefined;
      giveBack();
    },
  };
}
