import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, apiPath, isAbort, stream } from "../../live/api.ts";
import { generation } from "../../live/events.ts";
import { Command } from "../../parts/command.tsx";
import { counted, shellWord } from "../../parts/format.ts";
import { AnsiLine, Lines } from "../../parts/lines.tsx";
import { LogLines } from "./log-lines.ts";

/** The log of the attempt, live while it runs. */
export function Log({ id, isLive, attempt }: { id: string; isLive: boolean; attempt: number }) {
  const log = useRef(new LogLines());
  const [total, setTotal] = useState(0);
  const [error, setError] = useState<string | null>(null);
  const again = generation.value;
  useEffect(() => {
    const abort = new AbortController();
    log.current = new LogLines();
    setError(null);
    let frame = 0;
    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setTotal(log.current.total);
      });
    };
    const read = async () => {
      const path = apiPath("logs", { id, follow: isLive || undefined });
      for await (const { text } of stream<{ text: string }>(path, abort.signal)) {
        log.current.add(text);
        draw();
      }
      draw();
    };
    read().catch((reason) => {
      if (!isAbort(reason)) setError(reason instanceof ApiError ? reason.message : null);
    });
    return () => {
      cancelAnimationFrame(frame);
      abort.abort();
    };
  }, [id, isLive, attempt, again]);
  const { dropped } = log.current;
  if (error === null && total === 0 && !isLive) return null;
  const command = `viv logs ${isLive ? "-f " : ""}${shellWord(id)}`;
  return (
    <section>
      <h2>
        Log{" "}
        {isLive ? (
          <span class="chip s-working">
            <i class="dot" />
            live
          </span>
        ) : (
          <span class="n">{counted(total, "line")}</span>
        )}
        <span class="grow" />
        <Command text={command} />
      </h2>
      {dropped > 0 && <p class="t3 sm">{counted(dropped, "earlier line")} not shown.</p>}
      {error !== null && <p class="t3">{error}</p>}
      {total > 0 && (
        <Lines
          className="live"
          total={total}
          line={(at) => <AnsiLine text={log.current.at(at)} />}
          follow={isLive}
          label={`Log of ${id}`}
        />
      )}
      {total === 0 && error === null && <p class="t3">Nothing written yet.</p>}
    </section>
  );
}
