import type { ComponentChildren } from "preact";

/** The six columns of the board, and `none` for what has no state. Each has its own shape. */
export const COLUMNS = ["waiting", "ready", "working", "review", "done", "failed"] as const;
export type Column = (typeof COLUMNS)[number];
export type Tone = Column | "none";

export const COLUMN_LABEL: Record<Column, string> = {
  waiting: "Waiting",
  ready: "Ready",
  working: "Working",
  review: "Review",
  done: "Done",
  failed: "Failed",
};

/** The column of a task's state, as the board has it. */
export function columnOf(state: string | null | undefined): Tone {
  if (state === "pending") return "ready";
  if (state === "claimed") return "working";
  if (state === "cancelled") return "failed";
  return COLUMNS.find((column) => column === state) ?? "none";
}

const SHAPES: Record<Tone, ComponentChildren> = {
  waiting: <circle cx="7" cy="7" r="5.2" stroke-dasharray="2.3 1.784" />,
  ready: <circle cx="7" cy="7" r="5.2" />,
  working: (
    <>
      <circle cx="7" cy="7" r="5.2" opacity=".3" />
      <path class="spin" d="M7 1.8a5.2 5.2 0 0 1 4.5 7.8" />
    </>
  ),
  review: (
    <>
      <circle cx="7" cy="7" r="5.2" />
      <circle cx="7" cy="7" r="2.4" fill="currentColor" stroke="none" />
    </>
  ),
  done: (
    <>
      <circle cx="7" cy="7" r="6" fill="currentColor" stroke="none" />
      <path class="in" d="M4.3 7.200l1.900 1.900 3.500-3.900" />
    </>
  ),
  failed: (
    <>
      <circle cx="7" cy="7" r="6" fill="currentColor" stroke="none" />
      <path class="in" d="M4.900 4.900l4.200 4.200M9.100 4.900 4.900 9.100" />
    </>
  ),
  none: (
    <>
      <circle cx="7" cy="7" r="5.2" />
      <path d="M4.500 7h5" />
    </>
  ),
};

export function Glyph({ tone, label }: { tone: Tone; label?: string }) {
  return (
    <svg
      class={`glyph s-${tone}`}
      width="14"
      height="14"
      viewBox="0 0 14 14"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      {...(label === undefined ? { "aria-hidden": "true" } : { role: "img", "aria-label": label })}
    >
      {SHAPES[tone]}
    </svg>
  );
}

/** `bare`: its shape stands beside it already. */
export function Chip({
  tone,
  bare,
  children,
}: {
  tone: Tone;
  bare?: boolean;
  children: ComponentChildren;
}) {
  return (
    <span class={`chip s-${tone}`}>
      {!bare && <Glyph tone={tone} />}
      {children}
    </span>
  );
}
