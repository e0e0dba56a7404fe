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
  useEffect(() => {
    if (typed.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed.trim();
      setParams({ [name]: typed.trim() });
    }, SETTLE_MS);
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
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <kbd class="desk">/</kbd>
    </label>
  );
}
