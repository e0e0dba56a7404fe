import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * From now on the heap grows slowly: garbage is collected sooner, instead of memory being taken. For a
 * process that reads a lot once and then lives for days.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--optimize-for-size");
}

/**
 * Collects garbage now. After a long piece of work most of the heap is garbage, and a process that then
 * has little to do would keep it for hours. Takes some tens of milliseconds.
 */
export function giveBackMemory(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options?: { type: "major" }) => void;
  collect();
}
