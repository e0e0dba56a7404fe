import { signal } from "@preact/signals";
import { Icon } from "../parts/icons.tsx";

/**
 * What an action did, with the command that does the same. They leave by themselves, except errors;
 * a screen reader hears them without losing its place.
 */
export interface Toast {
  text: string;
  command?: string;
  isBad?: boolean;
  action?: { label: string; run: () => void };
}

const STAY_MS = 6_000;
const MOST = 3;
let next = 1;
const shown = signal<readonly (Toast & { key: number })[]>([]);

export function toast(one: Toast): void {
  const key = next++;
  shown.value = [...shown.value, { ...one, key }].slice(-MOST);
  if (!one.isBad) setTimeout(() => drop(key), STAY_MS);
}

function drop(key: number): void {
  shown.value = shown.value.filter((one) => one.key !== key);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ key, text, command, isBad, action }) => (
        <div key={key} class={isBad ? "toast is-bad" : "toast"}>
          <div>
            <bdi>{text}</bdi> {command && <span class="cmd">{command}</span>}
          </div>
          <span class="row">
            {action && (
              <button
                type="button"
                class="btn"
                onClick={() => {
                  drop(key);
                  action.run();
                }}
              >
                {action.label}
              </button>
            )}
            <button type="button" class="btn icon" aria-label="Dismiss" onClick={() => drop(key)}>
              <Icon name="close" size={14} />
            </button>
          </span>
        </div>
      ))}
    </div>
  );
}
