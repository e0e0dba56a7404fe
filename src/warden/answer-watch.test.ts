import { expect, test } from "vitest";
import { AnswerWatch } from "./answer-watch.ts";
import type { Attempt, Dance } from "./dance.ts";
import { newDance } from "./warden.ts";
import { parseWarrant } from "./warrant.ts";

const ASKED = Date.parse("2026-01-07T20:15:00Z");

function danceAsked(): { dance: Dance; attempt: Attempt } {
  const warrant = parseWarrant('{"target": "toast"}', "w1", ASKED);
  const dance = newDance("dog-1", warrant, ASKED);
  const attempt: Attempt = {
    ...{ number: 1, nonce: "n-1", timeout_ms: 60_000, asked_at: new Date(ASKED).toISOString() },
    ...{ channel: "pane %1", arrived: true, submitted: true },
    ...{ bursts: [], ended_at: null, ended: null },
  };
  return { dance, attempt };
}

const look = (screen: string[], beside: string[] = []) => {
  const answers: string[] = [];
  return { is: "there" as const, screen, beside, files: {}, answers };
};

function begun(first = look([])) {
  const { dance, attempt } = danceAsked();
  const watch = new AnswerWatch(dance, 3);
  watch.start(first);
  dance.attempts.push(attempt);
  return { dance, attempt, watch };
}

test("progress counts while the clock is set back", () => {
  const { attempt, watch } = begun();
  for (const at of [0, 10_000, 20_000, 40_000]) {
    watch.record(look([`step ${at}`]), attempt, ASKED - 3_600_000 + at);
  }
  expect(watch.hasProgress()).toBe(true);
});

test("new output in another pane is progress; old output is not, also after a restart", () => {
  const { dance, attempt, watch } = begun(look([], ["# a prompt"]));
  watch.record(look([], ["# a prompt"]), attempt, ASKED + 5_000);
  const after = new AnswerWatch(JSON.parse(JSON.stringify(dance)) as Dance, 3);
  after.record(look([], ["# a prompt"]), attempt, ASKED + 20_000);
  expect(attempt.bursts).toEqual([]);
  watch.record(look([], ["compiled a"]), attempt, ASKED + 30_000);
  watch.record(look([], ["compiled b"]), attempt, ASKED + 50_000);
  expect(watch.hasProgress()).toBe(true);
  expect(watch.bursts().map(({ source }) => source)).toEqual(["another pane", "another pane"]);
});
