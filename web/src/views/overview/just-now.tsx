import { news, pickNews } from "../../live/news.ts";
import { clockSeconds } from "../../parts/format.ts";
import { Glyph } from "../../parts/glyph.tsx";
import { plain } from "../../parts/plain.ts";
import { routeHref, taskHref } from "../../shell/router.ts";

/** Points at what happens while the page is open, in the room that a short list of needs leaves. */
export function JustNow({ most }: { most: number }) {
  const shown = pickNews(news.value, most);
  return (
    <section class="panel just-now live" aria-label="Just now">
      <header>
        <h2>Just now</h2>
      </header>
      {shown.length === 0 && (
        <p class="pad t3">What is proven, lands or fails from now on is listed here.</p>
      )}
      <ul>
        {shown.map(({ key, at, tone, text, task, view }) => (
          <li key={key}>
            <a href={task !== null ? taskHref(task) : routeHref(view ?? "wire")}>
              <Glyph tone={tone} />
              {task !== null && <span class="id">{task}</span>}
              <bdi class="cut grow">{plain(text)}</bdi>
              <span class="t3 sm">{clockSeconds(at)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
