import { useEffect, useState } from "preact/hooks";
import { type FirstText, firstText } from "../../live/first-text.ts";
import { bytes, counted } from "../../parts/format.ts";
import { AnsiLine, Lines } from "../../parts/lines.tsx";
import { Markdown } from "../../parts/markdown-view.tsx";
import { splitLines } from "../../parts/split-lines.ts";

/** More is not fetched, but can be downloaded. */
const MOST_READ = 2_000_000;
/** More is not rendered, but shown as text. */
const MOST_RENDERED = 200_000;

/** What the task wrote: `artifacts/<id>.md`, rendered safely, or as it is. */
export function Artifact({ id, at }: { id: string; at: string }) {
  const name = `${id}.md`;
  const [found, setFound] = useState<FirstText | null>(null);
  const [isRaw, setRaw] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    fetch(`/api/artifacts/${encodeURIComponent(name)}`, { signal: abort.signal })
      .then(async (response) => setFound(response.ok ? await firstText(response, MOST_READ) : null))
      .catch(() => {}); // none, or the connection is lost, which the banner says
    return () => abort.abort();
  }, [name, at]);
  if (found === null || found.text.trim() === "") return null;
  const { text, rest } = found;
  const lines = isRaw ? splitLines(text) : [];
  const shown = isRaw ? text : text.slice(0, MOST_RENDERED);
  const left = rest + new TextEncoder().encode(text.slice(shown.length)).length;
  return (
    <section>
      <h2>
        Artifact <span class="n">{name}</span>
        <span class="grow" />
        <button type="button" class="flat sm" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          {isRaw ? "Rendered" : "As text"}
        </button>
        <a class="link sm t2" href={`/api/artifacts/${encodeURIComponent(name)}`} download={name}>
          Download
        </a>
      </h2>
      {isRaw ? (
        <Lines
          total={lines.length}
          line={(index) => <AnsiLine text={lines[index] ?? ""} />}
          label={`${name}, ${counted(lines.length, "line")}`}
        />
      ) : (
        <div class="artifact">
          <Markdown text={shown} />
        </div>
      )}
      {left > 0 && <p class="t3">{bytes(left)} more; download it to read on.</p>}
    </section>
  );
}
