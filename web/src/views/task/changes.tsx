import { useMemo, useState } from "preact/hooks";
import type { output } from "zod/mini";
import type { diff as diffOperation } from "../../../../src/merge/diff.ts";
import { apiPath } from "../../live/api.ts";
import { type ResourceOptions, useResource } from "../../live/resource.ts";
import { Command } from "../../parts/command.tsx";
import { count, counted, shellWord } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Lines } from "../../parts/lines.tsx";
import { plain } from "../../parts/plain.ts";
import { type DiffLine, parseDiff } from "./parse-diff.ts";

type Diff = output<typeof diffOperation.output>;

/** All files of a small change can be opened at once. */
const OPEN_LINES = 2_400;
const OPEN_FILES = 20;
const MOST_FILES = 300;
/** A file with more lines is shown without them. */
const MOST_LINES = 20_000;
/** Where a task's changes may have become others. */
const REFRESH = (id: string): ResourceOptions => ({
  refreshOn: ["ended", "landed"],
  match: (event) => event.kind === "ledger" && event.data.task === id,
});

/** What a task changed: its files, and of each the lines. */
export function Changes({ id }: { id: string }) {
  const stat = useResource<Diff>(apiPath("diff", { id, stat: true }), REFRESH(id));
  const files = stat.data?.files ?? [];
  const size = (stat.data?.insertions ?? 0) + (stat.data?.deletions ?? 0);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const isOpen = (path: string) => opened.has(path);
  if (stat.data === null || files.length === 0) return null;
  const toggle = (path: string) => {
    const next = new Set(opened);
    if (!next.delete(path)) next.add(path);
    setOpened(next);
  };
  const isAllOpen = files.every(({ path }) => opened.has(path));
  const toggleAll = () => {
    setOpened(isAllOpen ? new Set() : new Set(files.map(({ path }) => path)));
  };
  const { insertions, deletions, branch, uncommitted } = stat.data;
  return (
    <section>
      <h2>
        Changes{" "}
        <span class="n">
          {counted(files.length, "file")} <Sum plus={insertions} minus={deletions} /> on{" "}
          <bdi>{branch}</bdi>
          {uncommitted && ", some not committed"}
        </span>
        <span class="grow" />
        {size <= OPEN_LINES && files.length <= OPEN_FILES && (
          <button type="button" class="flat sm" onClick={toggleAll}>
            {isAllOpen ? "Close all" : "Open all"}
          </button>
        )}
      </h2>
      <ul class="files">
        {files.slice(0, MOST_FILES).map((file) => (
          <li key={file.path}>
            <button
              type="button"
              class="file"
              aria-expanded={isOpen(file.path)}
              onClick={() => toggle(file.path)}
            >
              <Icon name={isOpen(file.path) ? "down" : "right"} size={12} />
              <bdi class="mono cut">{plain(file.path)}</bdi>
              {file.insertions === null ? (
                <span class="t3 sm binary">binary</span>
              ) : (
                <>
                  <span class="plus right">+{count(file.insertions)}</span>
                  <span class="minus right">−{count(file.deletions ?? 0)}</span>
                  <Blocks plus={file.insertions} minus={file.deletions ?? 0} />
                </>
              )}
            </button>
            {isOpen(file.path) && <FileLines id={id} file={file} />}
          </li>
        ))}
      </ul>
      {files.length > MOST_FILES && (
        <p class="t3">
          {counted(files.length - MOST_FILES, "more file")}:{" "}
          <Command text={`viv diff ${shellWord(id)}`} />
        </p>
      )}
    </section>
  );
}

function Sum({ plus, minus }: { plus: number; minus: number }) {
  return (
    <>
      <span class="plus">+{count(plus)}</span> <span class="minus">−{count(minus)}</span>
    </>
  );
}

/** Five blocks: how much of it is new. */
function Blocks({ plus, minus }: { plus: number; minus: number }) {
  const share = plus + minus === 0 ? 0 : Math.round((plus / (plus + minus)) * 5);
  return (
    <span class="blocks" aria-hidden="true">
      {[0, 1, 2, 3, 4].map((at) => (
        <i key={at} class={plus + minus === 0 ? "" : at < share ? "p" : "m"} />
      ))}
    </span>
  );
}

function FileLines({ id, file }: { id: string; file: Diff["files"][number] }) {
  const { path, insertions, deletions } = file;
  const isShown = insertions !== null && insertions + (deletions ?? 0) <= MOST_LINES;
  const { data, error } = useResource<Diff>(
    isShown ? apiPath("diff", { id, file: path }) : null,
    REFRESH(id),
  );
  const text = data?.diff ?? "";
  const lines = useMemo(() => parseDiff(text).flatMap((one) => one.lines), [text]);
  if (!isShown) {
    const command = `viv diff ${shellWord(id)} --file ${shellWord(path)}`;
    return (
      <p class="t3 pad">
        Not shown here: <Command text={command} />
      </p>
    );
  }
  if (data === null && error === null) return <p class="t3 pad">Reading…</p>;
  if (lines.length === 0) return <p class="t3 pad">No lines to show.</p>;
  return (
    <Lines
      className="diff"
      total={lines.length}
      line={(at) => <Line line={lines[at] as DiffLine} />}
      most={440}
      label={`Changes of ${path}`}
    />
  );
}

const SIGN = { add: "+", remove: "−", same: " ", hunk: "", note: "" };

function Line({ line: { kind, text, before, after } }: { line: DiffLine }) {
  return (
    <span class={`d-${kind}`}>
      <span class="at">{before ?? ""}</span>
      <span class="at">{after ?? ""}</span>
      <span class="sign">{SIGN[kind]}</span>
      {plain(text.slice(0, 2_000))}
      {text.length > 2_000 && <span class="t3"> … {count(text.length - 2_000)} more</span>}
    </span>
  );
}
