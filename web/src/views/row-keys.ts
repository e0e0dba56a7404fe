import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../shell/keys.tsx";
import { openTask } from "../shell/router.ts";
import { siblings } from "./task/siblings.ts";

/**
 * `j` and `k` move the focus over the rows of a list, Enter opens one: it presses what `opens` finds in
 * the row. With an open task, moving opens the next.
 */
export function useRowKeys(rows: string, word: string, opens = "a", verb = "Open"): void {
  const last = useRef<HTMLElement | undefined>(undefined);
  const step = (by: number) => {
    const isOpen = openTask.value !== null;
    const linkIn = (row: HTMLElement) => row.querySelector<HTMLAnchorElement>("a");
    const all = [...document.querySelectorAll<HTMLElement>(rows)].filter(
      (row) => !isOpen || linkIn(row) !== null,
    );
    // Where the focus is, or was; the task may have been opened with a click.
    let at = all.findIndex((row) => row.contains(document.activeElement));
    if (at === -1) {
      const isThere = (row: HTMLElement) =>
        isOpen ? linkIn(row)?.hash === location.hash : row === last.current;
      at =
        last.current && isThere(last.current) ? all.indexOf(last.current) : all.findIndex(isThere);
    }
    const row = all[Math.min(Math.max(0, at + by), all.length - 1)];
    last.current = row;
    if (row === undefined) return;
    row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    // Going from task to task in the drawer is one step back.
    if (isOpen) location.replace(linkIn(row)?.href ?? "");
  };
  const isOnRow = () => last.current !== undefined && document.activeElement === last.current;
  useKeys([
    { keys: ["j"], label: `Next ${word}`, run: () => step(1) },
    { keys: ["k"], label: `The ${word} before`, run: () => step(-1) },
    {
      ...{ keys: ["Enter"], label: `${verb} the ${word}`, when: isOnRow },
      run: () => last.current?.querySelector<HTMLElement>(opens)?.click(),
    },
  ]);
  useEffect(() => {
    siblings.value = { next: () => step(1), previous: () => step(-1) };
    return () => {
      siblings.value = null;
    };
  }, []);
}
