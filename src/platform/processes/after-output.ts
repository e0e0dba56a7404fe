import type { ChildProcess } from "node:child_process";

/**
 * For how long a process that was left behind, with the pipes still open, can hold up what follows an
 * exit.
 */
const DRAIN_MS = 250;

/**
 * To be called at `exit`. `act` follows when all output has been read: node may see the exit first, because
 * the signal of one child has it look at all of them.
 */
export function afterOutput(child: ChildProcess, act: () => void): void {
  const settle = () => {
    clearTimeout(timer);
    child.off("close", settle);
    act();
  };
  const timer = setTimeout(settle, DRAIN_MS);
  child.once("close", settle);
}
