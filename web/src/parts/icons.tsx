/** Icons: one stroke on a grid of 16. Drawn here; a new one is a line. */
const PATHS = {
  overview: "M1.9 12.6h12.2M4.7 12.6a3.3 3.3 0 0 1 6.6 0M8 3.4v2.4M3 6.7l1.5 1.3M13 6.7 11.5 8",
  board: "M2.6 3.2h2.8v9.6H2.6zM6.6 3.2h2.8V10H6.6zM10.6 3.2h2.8v4.4h-2.8z",
  fleet:
    "M8 6.2a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8zM4.1 13.2a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8zM11.9 13.2a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8z",
  warden: "M8 2l4.9 1.8v3.9c0 3-2 5-4.9 6.3-2.9-1.3-4.9-3.3-4.9-6.3V3.8z",
  wire: "M1.6 8.3h2.6l2-5.2 3.2 9.8 2-4.6h3",
  graph:
    "M3.7 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM12.3 5.1a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM12.3 13.9a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5.1 7.3l5.8-2.9M5.1 8.7l5.8 2.9",
  timeline: "M2 3.7h6M5.5 8H14M3.5 12.3h6",
  money:
    "M8 13.9A5.9 5.9 0 1 0 8 2.1a5.9 5.9 0 0 0 0 11.8zM9.9 6.2C9.4 5.6 8.8 5.3 8 5.3c-1.1 0-1.9.5-1.9 1.3 0 1.9 3.9.9 3.9 2.8 0 .8-.9 1.4-2 1.4-.9 0-1.6-.3-2.1-.9M8 4.2v1.1M8 10.8v1.1",
  git: "M4.6 5.2a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2zM4.6 14a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2zM11.4 6.6a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2zM4.6 5.2v5.6M11.4 6.6c0 2.7-3 2.3-5.6 3.2",
  search: "M7 11.4a4.4 4.4 0 1 0 0-8.8 4.4 4.4 0 0 0 0 8.8zM10.3 10.3l3.3 3.3",
  down: "M4.6 6.4 8 9.8l3.4-3.4",
  up: "M4.6 9.6 8 6.2l3.4 3.4",
  right: "M6.4 4.6 9.8 8l-3.4 3.4",
  left: "M9.6 4.6 6.2 8l3.4 3.4",
  close: "M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6",
  expand: "M9.6 2.6h3.8v3.8M13.4 2.6 8.7 7.3M6.4 13.4H2.6V9.6M2.6 13.4l4.7-4.7",
  collapse: "M13.4 6.6H9.4V2.6M9.4 6.6l4-4M2.6 9.4h4v4M6.6 9.4l-4 4",
  previous: "M8 12.4V3.8M4.6 7.2 8 3.8l3.4 3.4",
  next: "M8 3.6v8.6M4.6 8.8 8 12.2l3.4-3.4",
  play: "M5.2 3.6v8.8L12 8z",
  pause: "M5.6 3.6v8.8M10.4 3.6v8.8",
  tick: "M8.7 2 3.7 8.9h4.2L7.2 14l5.1-7H8z",
  copy: "M5.6 5.6h7.8v7.8H5.6zM10.4 5.6v-3H2.6v7.8h3",
  check: "M3.4 8.4l3 3 6.2-6.8",
  more: "M3.6 8h.01M8 8h.01M12.4 8h.01",
  plus: "M8 3.4v9.2M3.4 8h9.2",
  proof: "M3.2 3.2h9.6v9.6H3.2zM5.6 8.2l1.7 1.7 3.2-3.6",
  merge:
    "M4.5 5.1a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 13.9a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.9 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM4.5 5.1v5.8M4.7 5.1c.3 1.9 2 2.9 5.7 2.9",
  retry: "M12.9 8a4.9 4.9 0 1 1-1.6-3.6M12.9 2.2v2.9H10",
  sun: "M8 10.7a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM8 1.7v1.2M8 13.1v1.2M1.7 8h1.2M13.1 8h1.2M3.5 3.5l.9.9M11.6 11.6l.9.9M3.5 12.5l.9-.9M11.6 4.4l.9-.9",
  moon: "M13.1 9.6A5.5 5.5 0 0 1 6.4 2.9a5.5 5.5 0 1 0 6.7 6.7z",
  system:
    "M8 13.4A5.4 5.4 0 1 0 8 2.6a5.4 5.4 0 0 0 0 10.8zM8 2.6v10.8M8 5.4l3.6-1.1M8 8h5.4M8 10.6l3.6 1.1",
  arrow: "M2.8 8h10M9.4 4.6 12.8 8l-3.4 3.4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width={name === "more" ? 2.2 : 1.4}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The glass bell; `bare`: with nothing in it yet. */
export function Mark({ size = 22, bare = false }: { size?: number; bare?: boolean }) {
  return (
    <svg
      class="mark"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width={bare ? 0.8 : 1.6}
      stroke-linecap="round"
      aria-hidden="true"
    >
      <path d="M4.8 20.2V11a7.2 7.2 0 0 1 14.4 0v9.2M2.6 20.3h18.8M12 3.8V2.4" />
      {bare ? (
        <path d="M7.4 17.9h9.2" stroke-dasharray="1 1.4" />
      ) : (
        <>
          <path d="M12 20v-5.4" />
          <path
            class="leaf"
            d="M12 16.2c-3.3 0-4.9-1.8-4.9-4.5 3.2 0 4.9 1.6 4.9 4.5zM12 13.9c0-2.7 1.6-4.3 4.7-4.3 0 2.8-1.6 4.3-4.7 4.3z"
          />
        </>
      )}
    </svg>
  );
}
