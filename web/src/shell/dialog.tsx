import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** A modal dialog of the browser: it holds the focus, closes on Escape, and gives the focus back. */
export function Dialog({
  label,
  className,
  onClose,
  children,
}: {
  label: string;
  className?: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  // At once: the next key belongs to it.
  useLayoutEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog
      ref={ref}
      class={className}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => {
        // Beside it: the backdrop belongs to the dialog's element.
        if (event.target === ref.current) ref.current?.close();
      }}
    >
      {children}
    </dialog>
  );
}

interface Question {
  title: string;
  text: ComponentChildren;
  /** The label of a field for a note; none: no field. */
  note?: string;
  /** Without a note it cannot be answered. */
  needsNote?: boolean;
  yes: string;
  isDangerous?: boolean;
  command?: (note: string) => string;
}

const asked = signal<(Question & { answer: (note: string | null) => void }) | null>(null);

/** Asks a person. Null: no; otherwise the note, which may be empty. */
export function ask(question: Question): Promise<string | null> {
  return new Promise((answer) => {
    asked.value = { ...question, answer };
  });
}

export function Questions() {
  return asked.value && <QuestionDialog key={asked.value.title} {...asked.value} />;
}

function QuestionDialog(question: NonNullable<typeof asked.value>) {
  const { title, text, note: label, needsNote, yes, isDangerous, command, answer } = question;
  const [note, setNote] = useState("");
  const isReady = !needsNote || note.trim() !== "";
  const end = (given: string | null) => {
    asked.value = null;
    answer(given);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (isReady) end(note.trim());
  };
  return (
    <Dialog label={title} onClose={() => end(null)}>
      <header>
        <h2>{title}</h2>
      </header>
      <form class="pad" onSubmit={submit}>
        <p class="t2">{text}</p>
        {label && (
          <label>
            <span class="sm t2">{label}</span>
            <textarea
              value={note}
              onInput={(event) => setNote(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
              }}
            />
          </label>
        )}
        {command && <code class="cmd">{command(note.trim())}</code>}
        <div class="buttons">
          <button type="button" class="btn" onClick={() => end(null)}>
            Back
          </button>
          <button
            type="submit"
            class={isDangerous ? "btn danger" : "btn primary"}
            disabled={!isReady}
          >
            {yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
