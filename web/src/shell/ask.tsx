import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { FormDialog, Labelled } from "./form-dialog.tsx";

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
  const end = (given: string | null) => {
    asked.value = null;
    answer(given);
  };
  return (
    <FormDialog
      {...{ title, yes, kind: isDangerous ? "danger" : "primary" }}
      command={command?.(note.trim())}
      isReady={!needsNote || note.trim() !== ""}
      onSubmit={() => end(note.trim())}
      onClose={() => end(null)}
    >
      <p class="t2">{text}</p>
      {label && (
        <Labelled label={label}>
          <textarea value={note} onInput={(event) => setNote(event.currentTarget.value)} />
        </Labelled>
      )}
    </FormDialog>
  );
}
