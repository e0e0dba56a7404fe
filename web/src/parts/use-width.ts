import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** The width of an element, as it changes. */
export function useWidth<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (ref.current === null) return;
    const watcher = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry?.contentRect.width ?? 0)),
    );
    watcher.observe(ref.current);
    return () => watcher.disconnect();
  }, []);
  return { ref, width };
}
