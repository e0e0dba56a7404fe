import { expect, it } from "vitest";
import { termFor } from "../operation/term.ts";
import { upView } from "./cli.ts";
import { fleetView } from "./fleet-cli.ts";

const term = termFor({ env: {} } as never, { write: () => true });
const at = "2026-11-15T06:00:00.000Z";
const STILL = "the last good viv.toml still counts; see: viv config check";

it("tells people of a bad edit once, though each part reads it; and again after it was repaired", () => {
  const view = fleetView(term, (_, event) => `${event.message}`);
  const parts = (message: string) =>
    ["worker-1", "server"].map((part) =>
      view.event({ at, kind: "said", part, of: "worker", event: { kind: "trouble", message } }),
    );
  const bad = (message: string) => [
    ...parts(message),
    view.event({ at, kind: "config_bad", note: message, message }),
  ];
  const told = (problem: string) => [
    `06:00:00 up            ${problem}\n06:00:00 up            ${STILL}`,
    ...[null, null],
  ];
  expect(bad(`viv.toml:3: a\n${STILL}`)).toEqual(told("viv.toml:3: a"));
  expect(bad(`viv.toml:4: b\n${STILL}`)).toEqual(told("viv.toml:4: b"));
  view.event({ at, kind: "read_anew", file: "viv.toml", notes: [] });
  expect(bad(`viv.toml:4: b\n${STILL}`)).toEqual(told("viv.toml:4: b"));
  // Other errors are each part's own.
  expect(parts("the disk is full")).toEqual([
    "06:00:00 worker-1      the disk is full",
    "06:00:00 server        the disk is full",
  ]);
});

it("tells people of a good edit once; of what does not count yet, the first part that says so", () => {
  const view = fleetView(term, (_, event) => `${event.kind}`);
  const reload = (part: string, ...notes: string[]) =>
    view.event({
      ...{ at, kind: "said", part, of: "worker" },
      event: { kind: "reloaded", file: "viv.toml", notes },
    });
  const later = "on_dependency_failed counts from the next start of the worker on";
  const edit = (...notes: string[]) => [
    reload("worker-1", ...notes),
    view.event({ at, kind: "read_anew", file: "viv.toml", notes: [] }),
    reload("worker-2", ...notes),
    reload("server"),
  ];
  const told = "06:00:00 up            viv.toml was read anew";
  expect(edit()).toEqual([null, told, null, null]);
  expect(edit(later)).toEqual([`06:00:00 worker-1      ${later}`, told, null, null]);
  expect(edit(later)).toEqual([`06:00:00 worker-1      ${later}`, told, null, null]);
  // A crew's is of its manifest.
  const event = { kind: "reloaded", name: "crew", note: "the manifest can be used again" };
  expect(view.event({ at, kind: "said", part: "crew", of: "crew", event })).toContain("reloaded");
});

it("shows the log of agents to people in sentences", () => {
  const { event } = upView(term);
  const name = "snake-1";
  expect([
    event({ at, kind: "lingers", name, pid: 7, digesting: ["food-1"] }),
    event({ at, kind: "leftover", name: "keeper", pid: 8, survivors: [] }),
    event({ at, kind: "waits", name, note: "it belongs to a live worker" }),
    event({ at, kind: "restarts", name, after_ms: 1000 }),
    event({ at, kind: "stopping", working: [name] }),
  ]).toEqual([
    "06:00:00 snake-1 of an earlier viv up is still at food-1, pid 7; it ends after that",
    "06:00:00 keeper ended a leftover run, pid 8",
    "06:00:00 snake-1 waits for its name: it belongs to a live worker",
    "06:00:00 snake-1 restarts in 1s",
    "06:00:00 stopping after the current tasks of snake-1; interrupt again to release them now",
  ]);
});
