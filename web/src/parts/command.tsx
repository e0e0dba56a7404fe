import { copy } from "../shell/act.ts";
import { Icon } from "./icons.tsx";

/** A command as text; a click copies it. */
export function Command({ text }: { text: string }) {
  return (
    <button type="button" class="cmd cut" title="Copy" onClick={() => void copy(text)}>
      {text}
    </button>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  return (
    <button
      type="button"
      class="btn quiet icon"
      aria-label={`${label}: ${text.slice(0, 80)}`}
      onClick={() => void copy(text)}
    >
      <Icon name="copy" size={14} />
    </button>
  );
}
