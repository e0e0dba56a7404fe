import { news, pickNews } from "../../live/news.ts";
import { clockSeconds } from "../../parts/format.ts";
import { Glyph } from "../../parts/glyph.tsx";
import { plain } from "../../parts/plain.ts";
import { routeHref, taskHref } from "../../shell/router.ts";

const MOST = 5;

/** Points at what happens while the page is open. */
export function JustNow() {
  const shown = pickNews(news.value, MOST);
  if (shown.length === 0) return null;
  return (
    <section class="panel just-now live" aria-label="Just now">
      <ul>
        {shown.map(({ key, at, tone, text, task, view }) => (
          <li key={key}>
            <a href={task !== null ? taskHref(task) : routeHref(view ?? "wire")}>
              <Glyph tone={tone} />
              {task !== null && <span class="id">{task}</span>}
              <bdi>{plain(text)}</bdi>
              <span class="t3 sm">{clockSeconds(at)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
