import type { WorkSample } from "./dance.ts";

/** Less than this is housekeeping: a server that waits, a timer. */
const LEAST_CPU_SHARE = 0.01;
const LEAST_CPU_MS = 50;
const LEAST_IO = 16 * 1024;

/**
 * What the processes below an agent did between two samples, in words; null if that is nothing to
 * speak of. One that has run for longer than `patienceMs` is no evidence: a tool call that takes
 * that long may hang itself.
 */
export function workSince(
  before: readonly WorkSample[],
  now: readonly WorkSample[],
  elapsedMs: number,
  patienceMs: number,
): string | null {
  const known = new Map(before.map((one) => [keyOf(one), one]));
  const used = now
    .filter(({ age_ms }) => age_ms <= patienceMs)
    .map((one) => {
      const was = known.get(keyOf(one));
      const cpu = one.cpu_ms - (was?.cpu_ms ?? 0);
      return { command: one.command, pid: one.pid, cpu, io: one.io - (was?.io ?? 0) };
    });
  const cpu = used.reduce((sum, one) => sum + Math.max(0, one.cpu), 0);
  const io = used.reduce((sum, one) => sum + Math.max(0, one.io), 0);
  const isCpu = cpu >= LEAST_CPU_MS && cpu >= LEAST_CPU_SHARE * elapsedMs;
  if (!isCpu && io < LEAST_IO) return null;
  const most = used.sort((a, b) => b.cpu - a.cpu || b.io - a.io)[0];
  const whom = most === undefined ? "" : `, most of it by pid ${most.pid}: ${most.command}`;
  return `its children used ${(cpu / 1000).toFixed(1)} s of CPU and moved ${io} bytes${whom}`;
}

const keyOf = ({ pid, started }: WorkSample) => `${pid} ${started}`;
