import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { connection } from "../live/events.ts";
import { session } from "../live/session.ts";
import { Mark } from "../parts/icons.tsx";
import { ConnectionBanner } from "./banner.tsx";
import { openRuns } from "./runs-menu.tsx";

/** The head of a view: its name, one fact in grey, its controls at the right edge. */
export function TopBar({
  title,
  sub,
  children,
}: {
  title: string;
  sub?: ComponentChildren;
  children?: ComponentChildren;
}) {
  useEffect(() => {
    const run = session.value?.name;
    document.title = run ? `${title} · ${run}` : `${title} · Vivarium`;
  }, [title, session.value?.name]);
  const isLost = connection.value.state === "lost";
  return (
    <>
      <ConnectionBanner />
      <header class="top">
        <Mark />
        <h1>{title}</h1>
        <span class="t3 cut desk">{sub}</span>
        <span class="grow" />
        {children}
        <span class="phone">
          <button
            type="button"
            class="flat row t3 sm"
            title="viv runs"
            aria-haspopup="dialog"
            onClick={openRuns}
          >
            <i class={`dot s-${isLost ? "review" : "done"}`} />
            <bdi class="cut">{session.value?.name}</bdi>
          </button>
        </span>
      </header>
    </>
  );
}

/** What a view shows below its bar. It scrolls, and is where the skip link leads. */
export function Main({
  className = "",
  children,
}: {
  className?: string;
  children: ComponentChildren;
}) {
  return (
    <main id="main" class={`main ${className}`} tabIndex={-1}>
      {children}
    </main>
  );
}
