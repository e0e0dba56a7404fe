import { now } from "../../live/clock.ts";
import type { PoolStatus, Receipts, WarrantQueue } from "../../live/data-shapes.ts";
import { count } from "../../parts/format.ts";
import { Glyph, type Tone } from "../../parts/glyph.tsx";
import { Fact, Panel } from "../../parts/panel.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { act, commandOf, once } from "../../shell/act.ts";

const TEN_MINUTES = 600_000;

export function Pool({ pool, receipts }: { pool: PoolStatus; receipts: Receipts | null }) {
  const { active, pool: size, dogs, up } = pool;
  const recent = (receipts?.receipts ?? []).filter(
    ({ verdict, ended_at }) =>
      verdict === "executed" && now.value - Date.parse(ended_at) < TEN_MINUTES,
  );
  const kennel = Array.from({ length: Math.max(size, dogs.length) }, (_, at) => dogs[at]);
  return (
    <Panel title="Dog pool" note={up ? `${active} of ${size} active` : "not up"}>
      <div class="pad">
        <ul class="kennel" aria-label={`${active} of ${size} dogs are at work`}>
          {kennel.map((dog, at) => (
            <li key={dog?.dog ?? at} class={dog ? "s-review" : ""} title={dog && plain(dog.target)}>
              {at + 1}
            </li>
          ))}
        </ul>
        <hr class="rule" />
        <Fact label="Executions in 10 min">{count(recent.length)}</Fact>
        <p class="xs t3">Too many in a row pause the pool, and a person looks.</p>
      </div>
    </Panel>
  );
}

export function Warrants({
  queue,
  onChange,
}: {
  queue: WarrantQueue | null;
  onChange: () => void;
}) {
  const warrants = queue?.warrants ?? [];
  const withdraw = async (id: string, target: string) => {
    if (await act("warrant withdraw", { id }, { said: `${target} is left in peace` })) onChange();
  };
  return (
    <Panel title="Warrants" note={`${count(warrants.length)} waiting`}>
      {warrants.length === 0 && <p class="pad t3">None waits for a dog.</p>}
      <ul class="list tall" hidden={warrants.length === 0}>
        {warrants.map(({ id, target, reason, filed_at }) => (
          <li key={id}>
            <div class="grow cut">
              <div class="id cut">
                <bdi>{plain(target)}</bdi>
              </div>
              <div class="sm t3 cut">
                <bdi>{plain(reason)}</bdi>
              </div>
            </div>
            <span class="sm t3">
              <Since at={filed_at} short />
            </span>
            <button
              type="button"
              class="btn quiet"
              aria-label={`Withdraw the warrant for ${target}`}
              title={commandOf("warrant withdraw", { id })}
              onClick={once(() => withdraw(id, target))}
            >
              Withdraw
            </button>
          </li>
        ))}
      </ul>
      {(queue?.bad ?? []).map(({ name, why }) => (
        <p key={name} class="note s-review">
          <bdi>
            {plain(name)}: {plain(why)}
          </bdi>
        </p>
      ))}
    </Panel>
  );
}

export const VERDICT_TONE: Record<Receipts["receipts"][number]["verdict"], Tone> = {
  pardoned: "done",
  executed: "failed",
  failed: "review",
  already_dead: "none",
};

export function Verdicts({ receipts }: { receipts: Receipts | null }) {
  const verdicts = Object.entries(receipts?.verdicts ?? {}) as [
    keyof typeof VERDICT_TONE,
    number,
  ][];
  return (
    <Panel title="Verdicts" note="so far">
      <ul class="list">
        {verdicts.map(([verdict, n]) => (
          <li key={verdict}>
            <Glyph tone={VERDICT_TONE[verdict]} />
            <span class="grow">{verdict.replace("_", " ")}</span>
            <span class="t2">{count(n)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function Findings({ findings }: { findings: readonly Record<string, unknown>[] }) {
  if (findings.length === 0) return null;
  const text = (value: unknown) => (typeof value === "string" ? plain(value) : "");
  return (
    <Panel title="Rules saw" note="observed only">
      <ul class="list">
        {findings.slice(0, 20).map((one, at) => (
          <li key={at} title={text(one.evidence)}>
            <span class="grow cut">{text(one.rule)}</span>
            <bdi class="id">{text(one.target)}</bdi>
            <span class="t3 sm">
              <Since at={text(one.since) || text(one.at) || null} short />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
