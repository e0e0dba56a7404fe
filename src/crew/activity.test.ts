import { describe, expect, it } from "vitest";
import { crewActivity, keeperActivity } from "./activity.ts";
import type { CrewLine, MemberStatus } from "./status.ts";

function status(name: string, more: Partial<MemberStatus> = {}): MemberStatus {
  return {
    ...{ name, state: "waiting", since: "", run: null, outcome: null, note: "", last_run: null },
    ...{ next_tick: null, streak: 0, crashes: 0, lifecycle: null, saved: 0, cost_today: 0 },
    ...{ day: "", thought: null, engine: "exec", mode: "plan", ...more },
  };
}

const step = (agent: string, ts: number): CrewLine => ({
  ...{ tool: "fetch", target: `https://arxiv.org/abs/${ts}`, ts, agent },
});
const stamps = (steps: readonly { ts: number }[]) => steps.map(({ ts }) => ts);

describe("the crew shape", () => {
  it("has the seed's keys in the seed's order", () => {
    const moss = status("moss", { state: "running", thought: "reading the primary source" });
    const lines: CrewLine[] = [
      step("moss", 1_760_000_000),
      { run: "done", ts: 1_760_000_001, agent: "wren", seconds: 1, usd: null, note: "" },
    ];
    const text = JSON.stringify(crewActivity([moss, status("wren")], lines));
    const one =
      '{"tool":"fetch","target":"https://arxiv.org/abs/1760000000","ts":1760000000,"agent":"moss"}';
    const agent = `{"name":"moss","running":true,"lifecycle":null,"steps":[${one}],"thought":"reading the primary source"}`;
    const wren = '{"name":"wren","running":false,"lifecycle":null,"steps":[],"thought":null}';
    expect(text).toBe(`{"agents":[${agent},${wren}],"wire":[${one}],"agent":${agent}}`);
  });

  it("shows 5 of each and 10 of all, out of the last 60 steps", () => {
    const lines = [
      ...Array.from({ length: 3 }, (_, i) => step("old", i)),
      ...Array.from({ length: 60 }, (_, i) => step(i % 2 ? "wren" : "moss", 100 + i)),
    ];
    const { agents, wire } = crewActivity(
      ["old", "moss", "wren"].map((name) => status(name)),
      lines,
    );
    expect(agents.map(({ steps }) => stamps(steps))).toEqual([
      [],
      [150, 152, 154, 156, 158],
      [151, 153, 155, 157, 159],
    ]);
    expect(stamps(wire)).toEqual([150, 151, 152, 153, 154, 155, 156, 157, 158, 159]);
  });

  it("counts steps only: thoughts and ends between them take no place", () => {
    const thoughts = Array.from({ length: 100 }, (_, i): CrewLine => {
      return { thought: `${i}`, ts: i, agent: "wren" };
    });
    const { agents } = crewActivity(
      [status("moss"), status("wren")],
      [step("moss", 1), ...thoughts],
    );
    expect(stamps(agents[0]?.steps ?? [])).toEqual([1]);
    expect(agents[1]?.thought).toBe("99");
  });

  it.each<[string, string[], string | null, string]>([
    ["the first that runs", ["moss", "wren"], "wren", "moss"],
    ["that did the latest step, when nobody runs", [], "wren", "wren"],
    ["the first, when nobody has done anything", [], null, "desk"],
  ])("names as the agent %s", (_, running, latest, expected) => {
    const all = ["desk", "moss", "wren"].map((name) =>
      status(name, { state: running.includes(name) ? "running" : "waiting" }),
    );
    const lines = latest === null ? [] : [step("desk", 1), step(latest, 2)];
    expect(crewActivity(all, lines).agent?.name).toBe(expected);
  });

  it("of a crew without members is empty", () => {
    expect(crewActivity([], [step("gone", 1)])).toMatchObject({ agents: [], agent: null });
  });
});

it("the singleton's shape has three keys", () => {
  const desk = status("desk", { state: "running", lifecycle: "wake" });
  const lines = Array.from({ length: 7 }, (_, i) => step("desk", i));
  const { steps, ...rest } = keeperActivity(desk, [
    ...lines,
    { thought: "hm", ts: 8, agent: "desk" },
  ]);
  expect(stamps(steps)).toEqual([2, 3, 4, 5, 6]);
  expect(rest).toEqual({
    agent: { name: "desk", running: true, lifecycle: "wake" },
    thought: "hm",
  });
  expect(Object.keys(keeperActivity(desk, lines))).toEqual(["agent", "steps", "thought"]);
});
