import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/**
 * Keys. A view or part names those it takes while it is shown; the one that came last goes first,
 * so that an open drawer is before the board. Off in fields and with Ctrl, Alt or ⌘.
 */
export interface KeyBinding {
  /** As `KeyboardEvent.key` says it, letters in lower case; several: the same action. */
  keys: readonly string[];
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Whether it applies now; otherwise the next binding is asked. */
  when?: () => boolean;
}

export const FIND_KEY = /Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K";

const layers = signal<readonly { bindings: () => readonly KeyBinding[] }[]>([]);
const STORED = "viv.letters";

/** Single letters disturb some ways of speaking to a computer, so they can be switched off. */
export const lettersOn = signal(localStorage.getItem(STORED) !== "off");

export function setLetters(isOn: boolean): void {
  lettersOn.value = isOn;
  localStorage.setItem(STORED, isOn ? "on" : "off");
}

export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => {
    const layer = { bindings: () => latest.current };
    layers.value = [layer, ...layers.value];
    return () => {
      layers.value = layers.value.filter((one) => one !== layer);
    };
  }, []);
}

/** Of what is shown now, for the list of keys. */
export function shownBindings(): KeyBinding[] {
  const seen = new Set<string>();
  const all = layers.value.flatMap(({ bindings }) => bindings());
  return all.filter(({ label }) => !seen.has(label) && seen.add(label));
}

export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (isTyping(event.target) && key !== "Escape") return;
    if (document.querySelector("dialog[open]") !== null) return;
    if (key.startsWith("Arrow") && isScroller(event.target)) return;
    if (!lettersOn.value && key.length === 1) return;
    // A button that is focused takes Enter and space itself.
    if ((key === "Enter" || key === " ") && isPressable(event.target)) return;
    for (const layer of layers.value) {
      const found = layer
        .bindings()
        .find(({ keys, when }) => keys.includes(key) && (when === undefined || when()));
      if (found) {
        event.preventDefault();
        found.run(event);
        return;
      }
    }
  });
}

const FIELDS =
  "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button])";

/** In a field; one in a dialog that has just been closed may still have the focus. */
function isTyping(target: EventTarget | null): boolean {
  const field = (target as HTMLElement | null)?.closest?.(FIELDS);
  return field != null && field.closest("dialog:not([open])") === null;
}

/** There, arrows scroll. */
function isScroller(target: EventTarget | null): boolean {
  return (target as HTMLElement | null)?.closest?.(".drawer, .lines, .term") != null;
}

function isPressable(target: EventTarget | null): boolean {
  return (target as HTMLElement | null)?.closest?.("button, a[href], summary") != null;
}
