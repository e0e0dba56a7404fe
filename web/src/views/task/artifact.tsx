import { useEffect, useState } from "preact/hooks";
import { bytes, counted } from "../../parts/format.ts";
import { AnsiLine, Lines } from "../../parts/lines.tsx";
import { Markdown } from "../../parts/markdown-view.tsx";
import { splitLines } from "../../parts/split-lines.ts";

/** More is not rendered, but can be downloaded. */
const MOST_RENDERED = 200_000;

/** What the task wrote: `artifacts/<id>.md`, rendered safely, or as it is. */
export function Artifact({ id, at }: { id: string; at: string }) {
  const name = `${id}.md`;
  const [text, setText] = useState<string | null>(null);
  const [isRaw, setRaw] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    fetch(`/api/artifacts/${encodeURIComponent(name)}`, { signal: abort.signal })
      .then(async (response) => setText(response.ok ? await response.text() : null))
      .catch(() => {}); // none, or the connection is lost, which the banner says
    return () => abort.abort();
  }, [name, at]);
  if (text === null || text.trim() === "") return null;
  const lines = isRaw ? splitLines(text) : [];
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
          <Markdown text={text.slice(0, MOST_RENDERED)} />
          {text.length > MOST_RENDERED && (
            <p class="t3">{bytes(text.length - MOST_RENDERED)} more; download it to read on.</p>
          )}
        </div>
      )}
    </section>
  );
}
