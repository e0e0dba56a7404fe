import { computed, effect, signal } from "@preact/signals";
import { connection } from "./events.ts";

const tick = signal(Date.now());

/**
 * The time of the server, once a second: the one clock of all relative times. It stands still while
 * the connection is lost, for what is shown is of that moment.
 */
export const now = computed(() => {
  const { state, at, skew } = connection.value;
  return (state === "lost" ? at : tick.value) + skew;
});

/** Ticks only while it can be seen. */
effect(() => {
  if (connection.value.state === "lost") return;
  const beat = () => {
    if (!document.hidden) tick.value = Date.now();
  };
  beat();
  const timer = setInterval(beat, 1000);
  document.addEventListener("visibilitychange", beat);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", beat);
  };
});
