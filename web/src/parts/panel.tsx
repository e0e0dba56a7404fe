import type { ComponentChildren } from "preact";
import type { ApiError } from "../live/api.ts";

/** A panel: title, count in grey, controls at the right edge, then what it is about. */
export function Panel({
  title,
  note,
  controls,
  className = "",
  children,
}: {
  title: string;
  note?: ComponentChildren;
  controls?: ComponentChildren;
  className?: string;
  children: ComponentChildren;
}) {
  return (
    <section class={`panel ${className}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span class="n cut">{note}</span>}
        <span class="grow" />
        {controls}
      </header>
      {children}
    </section>
  );
}

/** Label and figure, right-aligned: one line. */
export function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="kv">
      <span>{label}</span>
      <span>{children}</span>
    </div>
  );
}

/** A bar from 0 to 1, of the state's colour around it, or of the accent. */
export function Meter({
  share,
  label,
  opacity = 1,
}: {
  share: number;
  label: string;
  opacity?: number;
}) {
  const percent = Math.round(Math.min(1, Math.max(0, share || 0)) * 1000) / 10;
  return (
    <div
      class="meter"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <i style={{ width: `${percent}%`, opacity }} />
    </div>
  );
}

/** What could not be read, with a way to try again. What was shown before stays. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="note s-failed">
      <span class="grow">
        <bdi>{error.message}</bdi>
      </span>
      {retry && (
        <button type="button" class="btn" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A table that scrolls sideways where it is wider than its panel. A head of `>Took` is at the right. */
export function Table({
  label,
  head,
  className = "",
  children,
}: {
  label: string;
  head: readonly string[];
  className?: string;
  children: ComponentChildren;
}) {
  return (
    <div class={`scroll-x ${className}`} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((word) => (
              <th key={word} class={word[0] === ">" ? "right" : undefined}>
                {word.replace(">", "")}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
