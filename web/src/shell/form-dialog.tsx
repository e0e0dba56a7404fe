import { type ComponentChildren, cloneElement, type VNode } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { ApiError } from "../live/api.ts";
import { LOGIN } from "./act.ts";
import { Dialog } from "./dialog.tsx";

/** A question with its answer: fields, the command that does the same, Back and the word for yes. */
export function FormDialog({
  title,
  command,
  yes,
  kind = "primary",
  isReady = true,
  wrong,
  error,
  onSubmit,
  onClose,
  children,
}: {
  title: string;
  command?: string;
  yes: string;
  kind?: "primary" | "danger";
  isReady?: boolean;
  /** What is wrong with the fields, a new object each time. */
  wrong?: object;
  /** Of the whole, and not of a field. */
  error?: ComponentChildren;
  onSubmit: () => void;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const form = useRef<HTMLFormElement>(null);
  // The first field that is wrong comes into view.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }, [wrong]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isReady) onSubmit();
  };
  return (
    <Dialog label={title} onClose={onClose}>
      <header>
        <h2>{title}</h2>
      </header>
      <form
        ref={form}
        class="pad"
        noValidate
        onSubmit={submit}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
        }}
      >
        {children}
        {command && <code class="cmd">{command}</code>}
        {error && (
          <p role="alert" class="c s-failed">
            {error}
          </p>
        )}
        <div class="buttons">
          <button type="button" class="btn" onClick={onClose}>
            Back
          </button>
          <button type="submit" class={`btn ${kind}`} disabled={!isReady}>
            {yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A control with its name above, and below it what is wrong with it. */
export function Labelled({
  label,
  error,
  children,
}: {
  label: string;
  error?: string;
  children: VNode<object>;
}) {
  const id = useId();
  const isWrong = error ? { "aria-invalid": true, "aria-describedby": `${id}-e` } : {};
  return (
    <div class="labelled">
      <label class="sm t2" for={id}>
        {label}
      </label>
      {cloneElement(children, { id, ...isWrong })}
      {error && (
        <bdi id={`${id}-e`} class="sm c s-failed">
          {error}
        </bdi>
      )}
    </div>
  );
}

/** For names and commands: nothing corrects them. */
export const CODE = {
  ...({ type: "text", autocomplete: "off", autocapitalize: "off" } as const),
  spellcheck: false,
};

/** Why a form was refused, beside it: a message would lie behind the dialog. */
export function refusalText({ status, message }: ApiError): string {
  return status === 401 ? `${LOGIN.text} ${LOGIN.command}` : message;
}
