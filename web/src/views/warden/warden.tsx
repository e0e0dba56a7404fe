import { useEffect, useState } from "preact/hooks";
import { apiPath } from "../../live/api.ts";
import type { PoolStatus, Receipts, WardenStatus, WarrantQueue } from "../../live/data-shapes.ts";
import { useResource } from "../../live/resource.ts";
import { Empty } from "../../parts/empty.tsx";
import { count } from "../../parts/format.ts";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { act, commandOf, once } from "../../shell/act.ts";
import { ask } from "../../shell/ask.tsx";
import { Main, TopBar } from "../../shell/top-bar.tsx";
import { useRowKeys } from "../row-keys.ts";
import { Dance } from "./dance.tsx";
import { FileWarrant } from "./file-warrant.tsx";
import { Findings, Pool, Verdicts, Warrants } from "./pool.tsx";
import { ReceiptTable } from "./receipts.tsx";
import "./warden.css";

/** A dance has steps that no event tells. */
const LOOK_MS = 2_000;

const LESSONS = [
  { title: "Start the warden", command: "viv warden up" },
  { title: "Ask an agent in tmux whether it is alive", command: "viv warrant file agent-1" },
];

const HOW =
  "The warden asks a silent agent up to three times, and ends only what does not answer. Each end leaves a receipt.";

/** It asks before it ends: dances, the queue, and what became of each. */
export default function WardenView() {
  const on = { refreshOn: ["ledger"], every: 400 } as const;
  const pool = useResource<PoolStatus>(apiPath("dog pool status"), on);
  const queue = useResource<WarrantQueue>(apiPath("dog warrants"), on);
  const status = useResource<WardenStatus>(apiPath("warden status"), on);
  const receipts = useResource<Receipts>(apiPath("warden receipts", { limit: 50 }), on);
  const all = [pool, queue, status, receipts];
  const refresh = () => {
    for (const one of all) one.refresh();
  };
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) for (const one of [pool, queue, status]) one.refresh();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  useRowKeys(".receipts tbody > tr:not(.proof)", "receipt", "[aria-expanded]");
  const [isFiling, setFiling] = useState(false);
  const error = all.find((one) => one.error !== null)?.error;
  const { data } = pool;
  const dances = data?.dogs ?? [];
  const isQuiet = dances.length === 0;
  const hasNothing =
    data !== null &&
    !data.up &&
    isQuiet &&
    receipts.data?.receipts.length === 0 &&
    (queue.data?.warrants ?? []).length === 0;
  return (
    <>
      <TopBar title="Warden" sub={subOf(data)}>
        {data && <PausePool pool={data} onChange={refresh} />}
        <button type="button" class="btn" title="viv warrant file" onClick={() => setFiling(true)}>
          File a warrant
        </button>
      </TopBar>
      <Main>
        <div class="wrap">
          {error && <Failure error={error} retry={refresh} />}
          {data?.paused && (
            <div class="note s-review">
              <span class="grow">
                The pool is paused by <bdi>{plain(data.paused.by)}</bdi>:{" "}
                <bdi>{plain(data.paused.why)}</bdi>. No agent is asked, and none is ended.
              </span>
            </div>
          )}
          {hasNothing ? (
            <Empty title="No agent was asked yet" lessons={LESSONS}>
              {HOW}
            </Empty>
          ) : (
            data && (
              <>
                <div class={isQuiet ? "stack" : "cols-2"}>
                  <Panel title="Dances" note={`${count(dances.length)} in progress`}>
                    {isQuiet && <p class="pad t2">No agent is being asked. {HOW}</p>}
                    {dances.map((dance) => (
                      <Dance
                        key={dance.dog}
                        dance={dance}
                        timeouts={data.timeouts_ms}
                        onChange={refresh}
                      />
                    ))}
                  </Panel>
                  <div class={isQuiet ? "cols-3" : "stack"}>
                    <Pool pool={data} receipts={receipts.data} />
                    <Warrants queue={queue.data} onChange={refresh} />
                    <Verdicts receipts={receipts.data} />
                    <Findings findings={status.data?.findings ?? []} />
                  </div>
                </div>
                {receipts.data && <ReceiptTable receipts={receipts.data} />}
              </>
            )
          )}
        </div>
      </Main>
      {isFiling && <FileWarrant onClose={() => setFiling(false)} onFiled={refresh} />}
    </>
  );
}

function subOf(pool: PoolStatus | null): string {
  if (pool === null) return "";
  return pool.up ? "asks before it ends" : "not up: viv warden up";
}

function PausePool({ pool, onChange }: { pool: PoolStatus; onChange: () => void }) {
  const isPaused = pool.paused !== null;
  const command = (note: string) => commandOf("warden pause", { note: note || null });
  const change = async () => {
    if (isPaused) {
      if (await act("warden resume", {}, { said: "The pool goes on" })) onChange();
      return;
    }
    const why = await ask({
      title: "Pause the pool?",
      text: "No new questions and no executions, until it is resumed.",
      note: "Why, for the record",
      yes: "Pause",
      command,
    });
    if (why === null) return;
    const said = "The pool is paused";
    if (await act("warden pause", { why }, { said, command: command(why) })) onChange();
  };
  return (
    <button
      type="button"
      class={isPaused ? "btn primary" : "btn quiet"}
      title={isPaused ? "viv warden resume" : "viv warden pause"}
      aria-label={isPaused ? "Resume pool" : "Pause pool"}
      onClick={once(change)}
    >
      <Icon name={isPaused ? "play" : "pause"} size={14} />
      <span class="desk">{isPaused ? "Resume pool" : "Pause pool"}</span>
    </button>
  );
}
