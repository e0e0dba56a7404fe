import { signal } from "@preact/signals";
import { Icon } from "../parts/icons.tsx";
import { Dialog } from "./dialog.tsx";
import { FIND_KEY, lettersOn, setLetters, shownBindings } from "./keys.tsx";

const isOpen = signal(false);

export function openHelp(): void {
  isOpen.value = true;
}

const SIGNS: Record<string, string> = {
  Enter: "↵",
  Escape: "Esc",
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
};

export function Help() {
  if (!isOpen.value) return null;
  const close = () => {
    isOpen.value = false;
  };
  return (
    <Dialog label="Keys" onClose={close}>
      <header>
        <h2>Keys</h2>
        <span class="grow" />
        <label class="row sm t2">
          <input
            type="checkbox"
            checked={lettersOn.value}
            onChange={(event) => setLetters(event.currentTarget.checked)}
          />
          single letters
        </label>
        <button type="button" class="btn quiet icon" aria-label="Close" onClick={close}>
          <Icon name="close" size={14} />
        </button>
      </header>
      <dl class="keys">
        <div>
          <dt>Find a view, task or action</dt>
          <dd>
            <kbd>{FIND_KEY}</kbd>
          </dd>
        </div>
        {shownBindings().map(({ keys, label }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {keys
                .filter((key) => !key.startsWith("Arrow") || keys.length === 1)
                .map((key) => (
                  <kbd key={key}>{SIGNS[key] ?? key.toUpperCase()}</kbd>
                ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
