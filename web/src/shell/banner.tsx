import { useEffect, useState } from "preact/hooks";
import { connection, tryNow } from "../live/events.ts";
import { clockSeconds } from "../parts/format.ts";
import { Glyph } from "../parts/glyph.tsx";

/** Says that the connection is lost, since when, and when the next try is. */
export function ConnectionBanner() {
  const { state, at, retryAt } = connection.value;
  const isLost = state === "lost";
  return (
    <div role="status" aria-live="polite">
      {isLost && (
        <div class="banner">
          <Glyph tone="review" />
          <span class="grow">
            <b>Connection lost</b> since {clockSeconds(at)}. The fleet goes on without this page.{" "}
            <Countdown to={retryAt} />
          </span>
          <button type="button" class="btn" onClick={tryNow}>
            Try now
          </button>
        </div>
      )}
    </div>
  );
}

/** Not announced: only that it is lost is news. */
function Countdown({ to }: { to: number }) {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const tick = () => setLeft(Math.max(0, Math.ceil((to - Date.now()) / 1000)));
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [to]);
  return <span aria-hidden="true">Trying again{left > 0 ? ` in ${left}s` : ""}.</span>;
}
