import { signal } from "@preact/signals";

/** How the list behind an open task goes on; null where there is none. */
export const siblings = signal<{ next: () => void; previous: () => void } | null>(null);
