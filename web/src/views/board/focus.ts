import { signal } from "@preact/signals";
import type { Column } from "../../parts/glyph.tsx";

/** The card that the keys are at. `isAsked`: a key moved it there, so it gets the focus. */
export const boardFocus = signal<{ column: Column; index: number; isAsked: boolean }>({
  column: "review",
  index: 0,
  isAsked: false,
});
