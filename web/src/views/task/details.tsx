import { useState } from "preact/hooks";
import { Command } from "../../parts/command.tsx";
import { amount, bytes, dollars, moment, shellWord } from "../../parts/format.ts";
import { Meter } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { taskHref } from "../../shell/router.ts";
import { type Attempt, sumOf } from "./attempts-of.ts";
import type { Shown } from "./use-task.ts";

const FOLDERS: Record<string, string> = { cancelled: "failed", quarantined: "quarantine" };

export function Details({ shown }: { shown: Shown }) {
  const { id, state, task, worker, landing } = shown;
  const file = `${FOLDERS[state] ?? state}/${state === "claimed" && worker ? `${worker}/` : ""}${id}.json`;
  const text = (value: unknown) =>
    typeof value === "string" || typeof value === "number" ? String(value) : null;
  const created = text(task?.created_at);
  const by = text(task?.created_by);
  const rows: [string, string | null][] = [
    ["File", file],
    ["Enqueued", created && `${moment(created)}${by ? ` by ${by}` : ""}`],
    ["Type", shown.type],
    ["Priority", text(task?.priority) ?? "normal"],
    ["Tier", text(task?.tier_hint)],
    ["Proof", text(task?.done_when)],
    ["Attempts", text(task?.max_attempts)],
    ["Time limit", text(task?.timeout)],
    ["Not before", text(task?.not_before) && moment(text(task?.not_before) ?? "")],
    ["Deadline", text(task?.deadline)],
    ["Branch", landing?.branch ?? null],
    ["Target", landing?.target ?? null],
  ];
  const parent = text(task?.parent);
  return (
    <section>
      <h2>Details</h2>
      <dl class="props">
        {rows
          .filter((row): row is [string, string] => row[1] !== null && row[1] !== "")
          .map(([label, value]) => (
            <>
              <dt>{label}</dt>
              <dd class={`cut ${MONO.includes(label) ? "mono" : ""}`} title={plain(value)}>
                <bdi>{plain(value.slice(0, 500))}</bdi>
              </dd>
            </>
          ))}
        {parent && (
          <>
            <dt>Parent</dt>
            <dd class="cut">
              <a class="id" href={taskHref(parent)}>
                {parent}
              </a>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

const MONO = ["File", "Proof", "Branch"];

export function TaskCost({
  attempts,
  limit,
}: {
  attempts: readonly Attempt[];
  limit: number | null;
}) {
  const { usd, tokens } = sumOf(attempts);
  const all = tokens.input + tokens.output + tokens.cached;
  if (usd === null && all === 0) return null;
  const cached =
    tokens.input + tokens.cached > 0 ? tokens.cached / (tokens.input + tokens.cached) : 0;
  return (
    <section>
      <h2>
        Cost{" "}
        <span class="n">
          {usd === null ? "unknown" : dollars(usd)}
          {limit !== null && ` of ${dollars(limit)}`}
        </span>
      </h2>
      {limit !== null && usd !== null && (
        <Meter share={usd / limit} label="Cost beside the budget" />
      )}
      <dl class="props">
        <dt>Tokens in</dt>
        <dd>
          {amount(tokens.input + tokens.cached)}
          {cached > 0 && `, ${Math.round(cached * 100)}% cached`}
        </dd>
        <dt>Tokens out</dt>
        <dd>{amount(tokens.output)}</dd>
      </dl>
    </section>
  );
}

export function Commands({
  id,
  state,
  hasBranch,
}: {
  id: string;
  state: string;
  hasBranch: boolean;
}) {
  const word = shellWord(id);
  const all = [
    `viv show ${word}`,
    `viv why ${word}`,
    `viv logs ${state === "claimed" ? "-f " : ""}${word}`,
    ...(hasBranch ? [`viv diff ${word}`] : []),
  ];
  return (
    <section>
      <h2>Commands</h2>
      <ul class="commands">
        {all.map((text) => (
          <li key={text}>
            <Command text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A payload may be megabytes: its beginning says what it is about. */
const MOST = 20_000;

export function Payload({ payload }: { payload: unknown }) {
  const [isOpen, setOpen] = useState(false);
  if (typeof payload !== "object" || payload === null || Object.keys(payload).length === 0)
    return null;
  return (
    <details class="payload" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Payload</summary>
      {isOpen && <PayloadText payload={payload} />}
    </details>
  );
}

function PayloadText({ payload }: { payload: object }) {
  const text = JSON.stringify(payload, null, 2);
  return (
    <pre class="term" tabIndex={0}>
      {plain(text.slice(0, MOST))}
      {text.length > MOST && `\n… ${bytes(text.length - MOST)} more`}
    </pre>
  );
}
