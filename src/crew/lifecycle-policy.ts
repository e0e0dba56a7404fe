import { LIFECYCLE_EFFECTS, type LifecyclePosition, type LifecycleSpec } from "./lifecycle.ts";
import type { TickOutcome } from "./status.ts";

/** From what was persisted. What cannot be read, or names a state that is gone, is the start. */
export function positionFrom(text: string | null, spec: LifecycleSpec): LifecyclePosition {
  const match = /^(\S+)[ \t]+(\d{1,9})$/.exec(text?.trim() ?? "");
  const state = spec.states.get(match?.[1] ?? "");
  if (match === null || state === undefined) return { state: spec.start, hits: 0 };
  // The spec may have been edited since: its last hit then is one that moves on.
  return { state: match[1] as string, hits: Math.min(Number(match[2]), state.repeat - 1) };
}

export function textOf({ state, hits }: LifecyclePosition): string {
  return `${state} ${hits}`;
}

export function afterTick(
  spec: LifecycleSpec,
  position: LifecyclePosition,
  outcome: TickOutcome,
): LifecyclePosition {
  const effect = LIFECYCLE_EFFECTS[outcome];
  const state = spec.states.get(position.state);
  if (effect === "stay" || state === undefined) return position;
  const hits = position.hits + 1;
  if (effect === "hit" && hits < state.repeat) return { state: position.state, hits };
  return { state: state.next, hits: 0 };
}

/** Within its MIN-INTERVAL. A last run in the future (the clock was set back) does not close it. */
export function isClosed(
  spec: LifecycleSpec,
  position: LifecyclePosition,
  lastRanAt: number | null,
  now: number,
): boolean {
  const minIntervalMs = spec.states.get(position.state)?.minIntervalMs ?? 0;
  if (lastRanAt === null || lastRanAt > now) return false;
  return now - lastRanAt < minIntervalMs;
}
