import { describe, expect, it } from "vitest";
import { type FleetFacts, isSame, partsOf } from "./parts.ts";

const FACTS: FleetFacts = {
  ...{ run: "/r", hasRoutes: true, workers: null, merges: false, crew: null, warden: null },
  ...{ agents: null, server: null, hasPort: true, schedules: null, notifications: null },
};
const names = (facts: Partial<FleetFacts>, isUseless?: (name: string) => boolean) =>
  partsOf({ ...FACTS, ...facts }, isUseless).map(({ name }) => name);

describe("the parts of a fleet", () => {
  it.each<[string, Partial<FleetFacts>, string[]]>([
    ["routes alone: two workers", {}, ["reaper", "worker-1", "worker-2"]],
    ["no route: no worker", { hasRoutes: false, workers: [group("worker", 3)] }, ["reaper"]],
    [
      "as many as are declared",
      { workers: [group("worker", 1), group("fix", 2)] },
      ["reaper", "worker-1", "fix-1", "fix-2"],
    ],
    ["none of them", { workers: [group("worker", 0)] }, ["reaper"]],
    ["agents.toml instead of workers", { agents: "/a.toml" }, ["reaper", "agents"]],
    [
      "agents.toml and workers",
      { agents: "/a.toml", workers: [group("worker", 1)] },
      ["reaper", "worker-1", "agents"],
    ],
    [
      "all else that is declared",
      { crew: "", warden: "", server: "", schedules: "", notifications: "" },
      ["reaper", "notifications", "schedules", "server", "warden", "worker-1", "worker-2", "crew"],
    ],
  ])("%s", (_, facts, expected) => {
    expect(names(facts)).toEqual(expected);
  });

  it("has a merge queue of its own only where no worker would do it", () => {
    expect(names({ merges: true })).not.toContain("merge");
    expect(names({ merges: true, workers: [group("worker", 0)] })).toContain("merge");
    expect(names({ merges: true, hasRoutes: false })).toContain("merge");
    expect(names({ merges: true }, (name) => name === "worker-1")).not.toContain("merge");
    expect(names({ merges: true }, () => true)).toContain("merge");
  });

  it("is started again when its arguments or its table change, and not else", () => {
    const part = (facts: Partial<FleetFacts>, name: string) => {
      const found = partsOf({ ...FACTS, ...facts }).find((one) => one.name === name);
      if (!found) throw new Error(`no ${name}`);
      return found;
    };
    const one = { workers: [group("worker", 1)] };
    expect(isSame(part({}, "worker-1"), part(one, "worker-1"))).toBe(true);
    const typed = { workers: [{ ...group("worker", 1), types: ["a"] }] };
    expect(isSame(part(one, "worker-1"), part(typed, "worker-1"))).toBe(false);
    expect(isSame(part({ server: "a" }, "server"), part({ server: "b" }, "server"))).toBe(false);
  });
});

function group(name: string, count: number) {
  return { name, count, concurrency: 1 };
}
