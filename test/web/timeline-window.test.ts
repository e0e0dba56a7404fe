import { expect, it } from "vitest";
import type { TimelineAnswer } from "../../web/src/live/data-shapes.ts";
import { csvOf } from "../../web/src/views/money/csv.ts";
import { stackOf } from "../../web/src/views/money/stack.ts";
import { strangersIn } from "../../web/src/views/overview/night-drawing.ts";
import { summaryOf } from "../../web/src/views/timeline/summary.ts";
import { clampWindow, withRoom } from "../../web/src/views/timeline/window.ts";

const MINUTE = 60_000;
const whole = { from: 0, to: 100 * MINUTE };

it("keeps a chosen part inside the whole, and follows the time at its end", () => {
  const at = (from: number, to: number) =>
    clampWindow({ from: from * MINUTE, to: to * MINUTE, isLive: false }, whole);
  expect(at(-10, 10)).toEqual({ from: 0, to: 20 * MINUTE, isLive: false });
  expect(at(90, 120)).toEqual({ from: 70 * MINUTE, to: 100 * MINUTE, isLive: true });
  expect(at(50, 50)).toEqual({ from: 50 * MINUTE, to: 51 * MINUTE, isLive: false });
  expect(at(-500, 500)).toEqual({ ...whole, isLive: true });
});

it("sums up the attempts of workers that ended there", () => {
  const span = (from: string, to: string | null, outcome: string | null, count = 1) => ({
    ...{ task: "t", from: `2026-11-18T${from}Z`, to: to && `2026-11-18T${to}Z`, outcome },
    ...{ attempt: 1, again: false, count },
  });
  const lanes: TimelineAnswer["lanes"] = [
    {
      ...{ name: "ada", kind: "worker" },
      spans: [
        span("07:00:00", "07:04:00", "proven"),
        span("07:05:00", "07:15:00", "done", 10),
        span("07:20:00", "07:22:00", "failed"),
        span("07:23:00", "07:25:00", "unproven"),
        span("07:30:00", null, null),
      ],
    },
    { name: "moss", kind: "crew", spans: [span("07:00:00", "07:01:00", "failed")] },
  ];
  const shown = {
    from: Date.parse("2026-11-18T07:00:00Z"),
    to: Date.parse("2026-11-18T08:00:00Z"),
  };
  const text = summaryOf({ lanes } as TimelineAnswer, { ...shown, isLive: true });
  expect(text).toBe("11 done, 2 failed; median 2m 00s");
});

it("stacks the models of each day, also of days without costs", () => {
  const day = (key: string, models: { model: string; usd: number }[]) =>
    ({ key, models, usd: models.reduce((sum, one) => sum + one.usd, 0) }) as never;
  const days = [
    day("2026-11-16", [
      { model: "opus", usd: 2 },
      { model: "=cmd", usd: 1 },
    ]),
    day("2026-11-18", [{ model: "opus", usd: 3 }]),
  ];
  const until = "2026-11-19T08:00:00.000Z";
  const { tops, sums } = stackOf(days, ["opus", "=cmd"], { since: "2026-11-15T08:00:00Z", until });
  expect(tops).toEqual([
    [0, 2, 0, 3, 0],
    [0, 3, 0, 3, 0],
  ]);
  expect(sums).toEqual([0, 3, 0, 3, 0]);
  // A young run has as many days as the label says; a period of one day has no empty days before it.
  const daysSince = (since: string) => {
    const drawn = stackOf(days.slice(1), ["opus"], { since, until }).days;
    return drawn.map((day) => new Date(day * 1000).toISOString().slice(5, 10));
  };
  expect(daysSince("2026-11-05T08:00:00Z")).toHaveLength(14);
  expect(daysSince("2016-11-19T08:00:00Z")[0]).toBe("11-06");
  expect(daysSince("2026-11-18T08:00:00Z")).toEqual(["11-18", "11-19"]);
  expect(csvOf({ days })).toContain(`2026-11-16,"'=cmd",1.0000`);
});

it("an agent is a stranger without a lane, where its end is within the time that is shown", () => {
  const frame = withRoom({ from: 0, to: 100 });
  expect(frame).toEqual({ from: 0, to: 102 });
  const kill = (name: string, at: number) => ({ name, at: new Date(at).toISOString() });
  const kills = [kill("ada", 50), kill("agent-6", 50), kill("agent-7", 103)];
  expect(strangersIn(kills, [{ name: "ada" }], frame)).toEqual([kill("agent-6", 50)]);
});
