import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../parts/icons.tsx";
import { useKeys } from "../shell/keys.tsx";
import { param, setParams } from "../shell/router.ts";

const SETTLE_MS = 150;

/** A field whose text is a parameter of the address; `/` goes there. */
export function FilterField({
  name = "filter",
  placeholder,
  label,
}: {
  name?: string;
  placeholder: string;
  label: string;
}) {
  const given = param(name);
  const [typed, setTyped] = useState(given);
  const field = useRef<HTMLInputElement>(null);
  const sent = useRef(given);
  useEffect(() => {
    // From elsewhere: back, a button, a link.
    if (given !== sent.current) setTyped(given);
    sent.current = given;
  }, [given]);
  const change = (next: string) => {
    setTyped(next);
    sent.current = next.trim();
    setParams({ [name]: next.trim() });
  };
  useEffect(() => {
    if (typed.trim() === sent.current) return;
    const timer = setTimeout(() => change(typed), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  useKeys([{ keys: ["/"], label: "Filter", run: () => field.current?.focus() }]);
  return (
    <label class="field">
      <Icon name="search" size={14} />
      <input
        ref={field}
        type="text"
        value={typed}
        placeholder={placeholder}
        aria-label={label}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          // Both leave the field, and the keys of the view count again; an open task stays.
          if (event.key !== "Escape" && event.key !== "Enter") return;
          change(typed);
          event.currentTarget.blur();
          event.stopPropagation();
        }}
      />
      {typed === "" ? (
        <kbd class="desk">/</kbd>
      ) : (
        <button type="button" class="flat" aria-label="Clear the filter" onClick={() => change("")}>
          <Icon name="close" size={12} />
        </button>
      )}
    </label>
  );
}
