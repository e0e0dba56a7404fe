import type { Card } from "../../live/shapes.ts";
import { dollars } from "../../parts/format.ts";
import { type Column, Glyph } from "../../parts/glyph.tsx";
import { Icon } from "../../parts/icons.tsx";
import { plain } from "../../parts/plain.ts";
import { Since } from "../../parts/since.tsx";
import { memo } from "./memo.ts";

/** Glyph, id, age / title / the one fact of its state / type, worker, attempt, proof, landed, cost. */
export const CardBody = memo(function CardBody({ card }: { card: Card }) {
  const { id, column, since, title, fact, type, worker, attempt, max_attempts, usd } = card;
  return (
    <>
      <div>
        <Glyph tone={column} />
        <span class="id cut">{id}</span>
        <span class="end sm t3">
          <Since at={since} short />
        </span>
      </div>
      <div class="title">
        <bdi>{plain(title ?? "") || <span class="t3">no title</span>}</bdi>
      </div>
      {fact !== null && <Fact column={column} fact={fact} />}
      <div class="meta">
        {card.priority === "high" && <span class="strong">high</span>}
        {card.cancelled && <span>cancelled</span>}
        <bdi class="cut">{[type, worker].filter(Boolean).join(" · ")}</bdi>
        {attempt !== null && attempt > 1 && (
          <span class="row tries" title={`attempt ${attempt} of ${max_attempts ?? "?"}`}>
            <Icon name="retry" size={11} />
            {attempt}
            {max_attempts !== null && `/${max_attempts}`}
          </span>
        )}
        <span class="end row tries">
          <Marks card={card} />
          {usd !== null && dollars(usd)}
        </span>
      </div>
    </>
  );
});

/** Proven and landed are quiet; the exception stands out. */
function Marks({ card: { column, proof, landing } }: { card: Card }) {
  const isEnd = column === "done" || column === "review";
  const isStuck = landing === "conflict" || landing === "red" || landing === "needs_you";
  return (
    <>
      {isEnd && proof === "passed" && <Mark name="proof" label="proven" />}
      {isEnd && proof === "failed" && <span class="c s-review">unproven</span>}
      {isEnd && proof === null && <span>no proof</span>}
      {landing === "landed" && <Mark name="merge" label="landed" />}
      {isStuck && <span class="c s-review">{landing === "needs_you" ? "stuck" : landing}</span>}
    </>
  );
}

function Mark({ name, label }: { name: "proof" | "merge"; label: string }) {
  return (
    <span role="img" aria-label={label} title={label}>
      <Icon name={name} size={12} />
    </span>
  );
}

function Fact({ column, fact }: { column: Column; fact: string }) {
  const change = column === "review" ? /^\+(\d+) [−-](\d+)(.*)$/.exec(fact) : null;
  return (
    <div class="fact">
      {change ? (
        <span class="cut">
          <span class="plus">+{change[1]}</span> <span class="minus">−{change[2]}</span>
          <bdi>{plain(change[3] ?? "")}</bdi>
        </span>
      ) : (
        <bdi class="cut">{plain(fact)}</bdi>
      )}
    </div>
  );
}
