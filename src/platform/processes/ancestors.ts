import { readProcess } from "./proc-fs.ts";

/** A process, its parent, and so on up to the first that can be seen. */
export function ancestorsOf(pid: number): { pid: number; started: string }[] {
  const chain: { pid: number; started: string }[] = [];
  for (let next = pid; next > 0 && chain.length < 1000; ) {
    const found = readProcess(next);
    if (typeof found === "string") break;
    chain.push({ pid: next, started: String(found.started) });
    next = found.parent;
  }
  return chain;
}
