import { useEffect } from "preact/hooks";
import { onEvent } from "../../live/events.ts";
import { news, pickNews, readPastNews } from "../../live/news.ts";
import { Glyph } from "../../parts/glyph.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { routeHref, taskHref } from "../../shell/router.ts";

/** What happened lately, and what happens now, in the room that a short list of needs leaves. */
export function Latest({ most }: { most: number }) {
  useEffect(() => {
    void readPastNews();
    // What happened between that answer and the first event is in neither.
    return onEvent(({ kind }) => void (kind === "hello" && readPastNews()));
  }, []);
  const shown = pickNews(news.value, most);
  return (
    <section class="panel latest live" aria-label="Latest">
      <header>
        <h2>Latest</h2>
      </header>
      {shown.length === 0 && <p class="pad t3">What is proven, lands or fails is listed here.</p>}
      <ul>
        {shown.map(({ key, at, tone, text, task, view }) => (
          <li key={key} class={key.startsWith("past") ? "" : "new"}>
            <a href={task !== null ? taskHref(task) : routeHref(view ?? "wire")}>
              <Glyph tone={tone} />
              {task !== null && <span class="id">{task}</span>}
              <bdi class="cut grow">{plain(text)}</bdi>
              <span class="t3 sm">
                <Since at={at} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
