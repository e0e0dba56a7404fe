import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { now } from "../live/clock.ts";
import { duration, fullTime } from "./format.ts";

/** How long ago, ticking: only its text changes. */
export function Since({ at, short = false }: { at: string | number | null; short?: boolean }) {
  const time = at === null ? Number.NaN : new Date(at).getTime();
  const text = useMemo(() => computed(() => duration(now.value - time, short)), [time, short]);
  if (Number.isNaN(time)) return null;
  return (
    <time dateTime={new Date(time).toISOString()} title={fullTime(time)}>
      {text}
    </time>
  );
}
