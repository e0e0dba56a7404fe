import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

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
