import { expect, it } from "vitest";
import { afterEvent, NO_NEWS, type PartEvent } from "./part-news.ts";
import type { PartKind } from "./parts.ts";

const noteAfter = (kind: PartKind, ...events: PartEvent[]) =>
  events.reduce((news, event) => afterEvent(news, kind, event), NO_NEWS).note;

it("a server's note goes when its file could be written after all, and no other note with it", () => {
  const full = { kind: "trouble", message: ".viv/server.json could not be written: no space" };
  const written = { kind: "written", file: ".viv/server.json" };
  expect(noteAfter("server", full)).toBe(full.message);
  expect(noteAfter("server", full, written)).toBe("");
  const pair = { kind: "trouble", message: "cert.pem and key.pem do not fit" };
  expect(noteAfter("server", full, pair, written)).toBe(pair.message);
});

it("a worker that holds tasks back says why also after another edit of viv.toml", () => {
  const held = { kind: "held", reasons: ["account main is closed (in 59m)", "the gate is full"] };
  const bad = { kind: "trouble", message: "viv.toml:3: there is no key x" };
  const reloaded = { kind: "reloaded", file: "viv.toml", notes: [] };
  expect(noteAfter("worker", held, bad, reloaded)).toBe("account main is closed; the gate is full");
  expect(noteAfter("worker", held, { kind: "held", reasons: [] }, reloaded)).toBe("");
  expect(noteAfter("worker", bad, reloaded)).toBe("");
});

it("a worker's note of what has failed goes when it claims again, that of a bad viv.toml does not", () => {
  const trouble = (code: string) => ({ kind: "trouble", code, message: "oh" });
  const claimed = { kind: "claimed", id: "t", type: "x", attempt: 1 };
  const held = { kind: "held", reasons: ["the gate is full"] };
  expect(noteAfter("worker", trouble("DISK_FULL"))).toBe("oh");
  expect(noteAfter("worker", trouble("DISK_FULL"), claimed)).toBe("");
  expect(noteAfter("worker", held, trouble("DISK_FULL"), claimed)).toBe("the gate is full");
  expect(noteAfter("worker", trouble("INVALID"), claimed)).toBe("oh");
});

it("a crew's note of a member goes when that member has worked again, or is removed", () => {
  const trouble = (name: string) => ({ kind: "trouble", name, message: "the disk is full" });
  const ran = (name: string, outcome = "done") => ({ kind: "ran", name, outcome });
  expect(noteAfter("crew", trouble("ada"), ran("ada", "failed"), ran("bob"))).toBe(
    "ada: the disk is full",
  );
  expect(noteAfter("crew", trouble("ada"), ran("ada"))).toBe("");
  expect(noteAfter("crew", trouble("ada"), ran("ada", "no_work"))).toBe("");
  expect(noteAfter("crew", trouble("gate"), ran("bob"))).toBe("");
  expect(noteAfter("crew", trouble("ada"), { kind: "removed", name: "ada", note: "" })).toBe("");
  // A bad manifest stays as long as it cannot be used.
  const again = { kind: "reloaded", name: "crew", note: "the manifest can be used again" };
  expect(noteAfter("crew", trouble("crew"), ran("ada"))).toBe("crew: the disk is full");
  expect(noteAfter("crew", trouble("crew"), again)).toBe("");
});
