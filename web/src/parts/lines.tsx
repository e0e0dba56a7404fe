import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { parseAnsi } from "./ansi.ts";
import "./lines.css";

const LINE = 18;
const BEYOND = 8;

/**
 * Lines of text, of which only those that are seen are in the page: a log of a million lines costs
 * as much as one of fifty. `follow`: stays at the end while it is there.
 */
export function Lines({
  total,
  line,
  most = 320,
  follow = false,
  label,
  className = "",
}: {
  total: number;
  line: (index: number) => ComponentChildren;
  /** The height in pixels from which it scrolls. */
  most?: number;
  follow?: boolean;
  label: string;
  className?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(follow);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element && follow && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [total, follow]);
  const seen = Math.ceil(most / LINE);
  const start = Math.max(0, Math.min(Math.floor(top / LINE) - BEYOND, total - seen));
  const end = Math.min(total, start + seen + 2 * BEYOND);
  const drawn = [];
  for (let index = start; index < end; index++) {
    drawn.push(
      <div key={index} class="line">
        {line(index)}
      </div>,
    );
  }
  const onScroll = ({ currentTarget: element }: { currentTarget: HTMLElement }) => {
    isAtEnd.current = element.scrollTop + element.clientHeight > element.scrollHeight - 24;
    setTop(element.scrollTop);
  };
  return (
    <div
      ref={box}
      class={`term lines ${className}`}
      role="region"
      aria-label={label}
      tabIndex={0}
      style={{ maxHeight: `${most}px` }}
      onScroll={onScroll}
    >
      <div style={{ height: `${total * LINE}px` }}>
        <div class="drawn" style={{ transform: `translateY(${start * LINE}px)` }}>
          {drawn}
        </div>
      </div>
    </div>
  );
}

/** One line of a terminal, with its colours. */
export function AnsiLine({ text }: { text: string }) {
  return (
    <>
      {parseAnsi(text).map(({ text, className }, at) => (
        <span key={at} class={className || undefined}>
          {text}
        </span>
      ))}
    </>
  );
}
