import type { ComponentChildren } from "preact";
import { CopyButton } from "./command.tsx";
import { Glyph, type Tone } from "./glyph.tsx";
import { Mark } from "./icons.tsx";

export interface Lesson {
  title: string;
  command: string;
  tone?: Tone;
}

/** Nothing is there: says so, and teaches the commands that change it. */
export function Empty({
  title,
  children,
  lessons = [],
}: {
  title: string;
  children?: ComponentChildren;
  lessons?: readonly Lesson[];
}) {
  return (
    <div class="empty">
      <Mark size={64} bare />
      <h2>{title}</h2>
      {children && <p class="t2">{children}</p>}
      {lessons.length > 0 && (
        <ol class="panel teach">
          {lessons.map(({ title, command, tone = "ready" }) => (
            <li key={title}>
              <Glyph tone={tone} />
              <b>{title}</b>
              <div class="term">
                <span class="t3">$</span>
                <code class="grow">{command}</code>
                <CopyButton text={command} />
              </div>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
