import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Moment, moments } from "../live/moments.ts";
import { Glyph, type Tone } from "../parts/glyph.tsx";
import { Icon } from "../parts/icons.tsx";
import { plain } from "../parts/plain.ts";
import { BEGIN, follow, type Play, startOf, step } from "./moment-play.ts";
import { route, routeHref, taskHref } from "./router.ts";

/**
 * The caption of the demo: one moment at a time, with a link to what it is about. It has a row of its
 * own below the view, so it covers nothing, and a screen reader hears its text in turn.
 */

/** In the storage of the tab: the last that was shown, or that captions are closed. */
const STORED = "viv.moment";
const CLOSED = "closed";
const TONES: Record<string, Tone> = {
  ...{ claimed: "working", taken_back: "ready", asked: "review", review: "review" },
  ...{ proven: "done", landed: "done", mended: "done", resolved: "done", recovered: "done" },
  ...{ pardoned: "done", eaten: "done", published: "done", up: "done", seen: "done" },
  ...{ unproven: "failed", conflict: "failed", killed: "failed", executed: "failed" },
};

const play = signal<Play>(BEGIN);
/** Under the pointer or with the focus in it, it waits. */
const isHeld = signal(false);
const isClosed = signal(sessionStorage.getItem(STORED) === CLOSED);
const shown = computed<Moment | null>(() =>
  isClosed.value ? null : (moments.value[play.value.index] ?? null),
);

/** What the caption points at: a task, or a view. */
export const pointed = computed(() => {
  const link = shown.value?.link ?? null;
  const id = link?.startsWith("task/") ? decodeURIComponent(link.slice(5)) : null;
  return { task: id, view: id === null ? link?.split("/")[0] : "board" };
});

effect(() => {
  if (isClosed.value || isHeld.value || moments.value.length === 0) return;
  if (play.value.index < 0) {
    const index = startOf(moments.value, Number(sessionStorage.getItem(STORED) ?? 0));
    play.value = { index, since: Date.now(), isFollowing: true };
    return; // runs again, as the signal has changed
  }
  const { play: next, in: ms } = follow(play.value, moments.value.length, Date.now());
  if (next !== play.value) {
    play.value = next;
    return;
  }
  if (ms === null) return;
  const timer = setTimeout(() => {
    play.value = { ...play.value };
  }, ms);
  return () => clearTimeout(timer);
});

effect(() => {
  if (shown.value !== null) sessionStorage.setItem(STORED, String(shown.value.n));
});

export function MomentCaption() {
  const one = shown.value;
  const count = moments.value.length;
  const move = (by: number) => {
    play.value = step(play.value, by, count, Date.now());
  };
  const ref = useRef<HTMLElement>(null);
  // Messages stand above it, however high it is.
  useEffect(() => {
    const { style } = document.documentElement;
    const watcher = new ResizeObserver(() =>
      style.setProperty("--caption", `${ref.current?.offsetHeight ?? 0}px`),
    );
    if (ref.current !== null) watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, []);
  return (
    <section
      ref={ref}
      class={one === null ? "moment is-off" : "moment"}
      aria-label="Moments of the demo"
      onPointerEnter={() => {
        isHeld.value = true;
      }}
      onPointerLeave={() => {
        isHeld.value = false;
      }}
      onFocusIn={() => {
        isHeld.value = true;
      }}
      onFocusOut={() => {
        isHeld.value = false;
      }}
    >
      <p role="status" aria-live="polite">
        {one !== null && (
          <>
            <Glyph tone={TONES[one.key] ?? "none"} />
            <span>
              <b>{plain(one.key.replace("_", " "))}</b> <bdi>{plain(one.text)}</bdi>
            </span>
          </>
        )}
      </p>
      {one !== null && (
        <div class="row">
          {one.command && <span class="cmd desk">{plain(one.command)}</span>}
          {one.link && (
            <a class="btn" href={hrefOf(one.link)}>
              Show
            </a>
          )}
          <span class="row steps">
            <button
              type="button"
              class="btn icon"
              aria-label="Previous moment"
              disabled={play.value.index <= 0}
              onClick={() => move(-1)}
            >
              <Icon name="left" size={14} />
            </button>
            <span class="t3 sm">
              {play.value.index + 1} of {count}
            </span>
            <button
              type="button"
              class="btn icon"
              aria-label="Next moment"
              disabled={play.value.index >= count - 1}
              onClick={() => move(1)}
            >
              <Icon name="right" size={14} />
            </button>
          </span>
          <button type="button" class="btn icon" aria-label="Close the captions" onClick={close}>
            <Icon name="close" size={14} />
          </button>
        </div>
      )}
    </section>
  );
}

function hrefOf(link: string): string {
  route.value; // a task opens in the drawer of the view that is shown
  return pointed.value.task === null ? routeHref(link) : taskHref(pointed.value.task);
}

function close(): void {
  isClosed.value = true;
  isHeld.value = false;
  sessionStorage.setItem(STORED, CLOSED);
}
