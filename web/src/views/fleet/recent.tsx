import { counted } from "../../parts/format.ts";

const SHORT: Record<string, string> = {
  done: "ok",
  handed_in: "ok",
  failed: "no",
  unproven: "no",
  timed_out: "no",
  crashed: "no",
  killed: "no",
};

/** The last ends as small bars, oldest first; what went wrong is whole, the rest quiet. */
export function Recent({ outcomes }: { outcomes: readonly string[] }) {
  if (outcomes.length === 0) return null;
  const bad = outcomes.filter((one) => SHORT[one] === "no").length;
  const label = `Last ${counted(outcomes.length, "end")}: ${bad === 0 ? "none failed" : `${bad} failed`}`;
  return (
    <span class="recent" role="img" aria-label={label} title={outcomes.join(", ")}>
      {outcomes.map((outcome, at) => (
        <i key={at} class={SHORT[outcome] ?? "idle"} />
      ))}
    </span>
  );
}
