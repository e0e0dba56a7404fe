import { describe, expect, test } from "vitest";
import { crewStart, type StartInput } from "./choose.ts";

const start = (input: Partial<StartInput>) =>
  crewStart({
    env: {},
    wanted: { kind: "crew" },
    config: null,
    isActive: (file) => !file.includes("empty"),
    ...input,
  });
const config = { file: "/x/viv.toml", settings: {} };

describe("which one starts", () => {
  const CREW = { WB_CREW_DEF: "crew.org" };
  const KEEPER = { WB_KEEPER_DEF: "desk.org" };
  test.each<[string, Partial<StartInput>, string | null]>([
    ["nothing at all", {}, null],
    ["a crew", { env: CREW }, "crew crew.org"],
    ["a keeper", { env: KEEPER }, "keeper desk.org"],
    ["both", { env: { ...CREW, ...KEEPER } }, "crew crew.org"],
    [
      "a crew without members, and a keeper",
      { env: { WB_CREW_DEF: "empty.org", ...KEEPER } },
      "keeper desk.org",
    ],
    ["a crew without members", { env: { WB_CREW_DEF: "empty.org" } }, null],
    [
      "an empty variable",
      { env: { WB_CREW_DEF: " ", WB_KEEPER_DEF: "" }, config },
      "crew /x/viv.toml",
    ],
    ["viv.toml", { config }, "crew /x/viv.toml"],
    ["viv.toml without members", { config: { file: "/empty/viv.toml", settings: {} } }, null],
    ["viv.toml and a variable", { config, env: KEEPER }, "keeper desk.org"],
    [
      "a manifest by name, and all else",
      { config, env: { ...CREW, ...KEEPER }, wanted: { kind: "crew", manifest: "mine.org" } },
      "crew mine.org",
    ],
    [
      "a manifest by name, without members",
      { wanted: { kind: "crew", manifest: "empty.org" }, env: KEEPER },
      "crew empty.org",
    ],
    [
      "a def by name",
      { env: CREW, wanted: { kind: "keeper", def: "hale.org" } },
      "keeper hale.org",
    ],
  ])("with %s", (_, input, expected) => {
    const found = start(input);
    const choice = found && `${found.isSingleton ? "keeper" : "crew"} ${found.file}`;
    expect(choice).toBe(expected);
  });
});

describe("the settings", () => {
  const env = {
    WB_CREW_DEF: "c",
    WB_CREW_STAGGER_MS: "5",
    WB_CREW_MAX_CONCURRENT: "6",
    WB_KEEPER_INTERVAL_MS: "7",
    WB_KEEPER_MODE: "edit",
  };
  const file = { ...config, settings: { staggerMs: 1, graceMs: 2, maxConcurrent: 3, state: "/s" } };

  test("by default", () => {
    expect(start({ wanted: { kind: "crew", manifest: "c" } })).toMatchObject({
      ...{ state: null, graceMs: 60_000, staggerMs: 30_000, maxConcurrent: 2 },
      ...{ intervalMs: 3_600_000, mode: "plan" },
    });
  });

  test("of the file, over which the environment goes, over which flags go", () => {
    const ofFile = { staggerMs: 1, graceMs: 2, maxConcurrent: 3, state: "/s" };
    expect(start({ config: file })).toMatchObject({ ...ofFile, mode: "plan" });
    const ofEnv = { staggerMs: 5, maxConcurrent: 6, intervalMs: 7, mode: "edit" };
    expect(start({ config: file, env })).toMatchObject({ ...ofFile, ...ofEnv });
    const wanted = {
      ...{ kind: "crew" as const, grace: "0s", stagger: "0s", max_concurrent: 9, state: "t" },
      ...{ interval: "10ms", mode: "plan" as const },
    };
    expect(start({ config: file, env, wanted })).toMatchObject({
      ...{ graceMs: 0, staggerMs: 0, maxConcurrent: 9, state: "t", intervalMs: 10, mode: "plan" },
    });
  });

  test.each([
    ["WB_CREW_STAGGER_MS", "-1"],
    ["WB_CREW_STAGGER_MS", "30s"],
    ["WB_CREW_MAX_CONCURRENT", "0"],
    ["WB_CREW_MAX_CONCURRENT", "1.5"],
    ["WB_KEEPER_INTERVAL_MS", "0"],
    ["WB_KEEPER_INTERVAL_MS", "9".repeat(20)],
    ["WB_KEEPER_MODE", "destroy"],
  ])("%s=%s is refused", (name, value) => {
    expect(() => start({ env: { ...env, [name]: value } })).toThrow(`${name} "${value}" must be`);
  });

  test("an empty variable is none", () => {
    const empty = { WB_CREW_DEF: "c", WB_CREW_STAGGER_MS: "", WB_KEEPER_MODE: " " };
    expect(start({ env: empty })).toMatchObject({ staggerMs: 30_000, mode: "plan" });
    const wanted = { kind: "keeper" as const, def: "d", mode: "x" as "plan" };
    expect(() => start({ wanted })).toThrow('--mode "x" must be plan or edit');
  });
});
