import { describe, expect, it } from "vitest";
import type { LedgerLine } from "../../queue/ledger.ts";
import { LedgerDigest } from "./ledger-digest.ts";

const at = (time: string) => `2026-11-16T${time}.000Z`;
const NOW = Date.parse(at("08:00:00"));

function digestOf(...lines: Record<string, unknown>[]): LedgerDigest {
  const digest = new LedgerDigest(at("00:00:00"), NOW);
  for (const line of lines) digest.add(line as unknown as LedgerLine);
  return digest;
}

const claim = (task: string, time: string, token: string, worker = "w1") => ({
  ...{ at: at(time), event: "claimed", task, worker, token, attempt: 1 },
});
const end = (task: string, time: string, token: string, more: Record<string, unknown>) => ({
  ...{ at: at(time), event: "ended", task, worker: "w1", token, attempt: 1, ...more },
});
const DONE = { outcome: "done", to: "done" };

describe("a digest of the ledger", () => {
  it("has the last move of a task, and how long its attempts took", () => {
    const digest = digestOf(
      claim("t", "01:00:00", "1"),
      end("t", "01:10:00", "1", { outcome: "failed", to: "waiting", fingerprint: "exit 1" }),
      claim("t", "02:00:00", "2"),
      end("t", "02:05:00", "2", { ...DONE, attempt: 2 }),
    );
    const facts = digest.tasks.get("t");
    expect(facts).toMatchObject({ attempts: 2, workMs: 15 * 60_000, fingerprint: "exit 1" });
    expect(facts?.last).toMatchObject({ to: "done", attempt: 2 });
    expect(facts?.lastAt).toBe(at("02:05:00"));
    expect(Object.fromEntries(digest.outcomes)).toEqual({ failed: 1, done: 1 });
  });

  it("keeps the attempt of a review that is approved, and whether that was without a proof", () => {
    const digest = digestOf(
      claim("t", "01:00:00", "1"),
      end("t", "01:10:00", "1", { outcome: "done", to: "review", attempt: 3, proof: "passed" }),
      {
        at: at("02:00:00"),
        event: "approved",
        task: "t",
        from: "review",
        to: "done",
        unproven: "no proof ran",
      },
    );
    expect(digest.tasks.get("t")?.last).toMatchObject({ to: "done", attempt: 3, proven: false });
  });

  it("forgets an end that is void, and a task that went back", () => {
    const ended = [claim("t", "01:00:00", "1"), end("t", "01:10:00", "1", DONE)];
    const lost = { at: at("01:11:00"), event: "void", task: "t", token: "1", outcome: "done" };
    expect(digestOf(...ended, lost).tasks.get("t")?.last).toBeNull();
    const back = { at: at("03:00:00"), event: "reworked", task: "t", from: "done", to: "pending" };
    expect(digestOf(...ended, back).tasks.get("t")?.last?.to).toBe("pending");
  });

  it("counts an attempt that began before the period, and the tasks of a worker once", () => {
    const early = { ...claim("t", "23:00:00", "1"), at: "2026-11-15T23:00:00.000Z" };
    const digest = digestOf(
      early,
      end("t", "01:00:00", "1", { outcome: "failed", to: "pending" }),
      claim("t", "02:00:00", "2"),
      end("t", "02:01:00", "2", DONE),
    );
    expect(digest.tasks.get("t")?.attempts).toBe(2);
    expect(digest.tasksOf("w1")).toBe(1);
    // From midnight to one, and a minute.
    expect(digest.busy.all().get("w1")?.busyMs).toBe(61 * 60_000);
  });

  it("takes a task that was given back for no retry", () => {
    const digest = digestOf(
      claim("t", "01:00:00", "1"),
      end("t", "01:00:01", "1", { outcome: "released", to: "pending" }),
      claim("t", "02:00:00", "2"),
    );
    expect(digest.tasks.get("t")?.attempts).toBe(1);
  });

  it("lets a claim without an end last until the next one, or until now if it is held", () => {
    const digest = digestOf(
      claim("a", "01:00:00", "1"),
      claim("a", "02:00:00", "2", "w2"),
      claim("b", "03:00:00", "3", "w3"),
    );
    digest.close((task) => task === "a");
    const busy = digest.busy.all();
    expect(busy.get("w1")?.busyMs).toBe(3_600_000);
    expect(busy.get("w2")?.to).toBe(NOW);
    expect(busy.get("w3")?.busyMs).toBe(0);
  });

  it("knows what landed, and which attempts the warden ended", () => {
    const digest = digestOf(
      {
        at: at("01:00:00"),
        event: "landed",
        task: "t",
        commit: "c0",
        target: "main",
        repository: "/r",
        to: "c0",
      },
      end("u", "02:00:00", "1", { outcome: "abandoned", to: "pending", receipt: "/w/dog.json" }),
      {
        at: at("02:00:01"),
        event: "executed",
        task: "v",
        worker: "w1",
        token: "2",
        receipt: "/w/dog.json",
      },
      {
        at: "2026-11-15T01:00:00.000Z",
        event: "executed",
        task: "old",
        worker: "w1",
        receipt: "/w/old.json",
      },
    );
    expect(digest.tasks.get("t")).toMatchObject({
      landed: { target: "main", commit: "c0" },
      last: null,
    });
    expect(digest.executions.map(({ task, receipt }) => [task, receipt])).toEqual([
      ["u", "/w/dog.json"],
      ["v", "/w/dog.json"],
    ]);
  });

  it("counts damaged lines, and goes on", () => {
    const digest = digestOf(
      { at: 5, event: "ended", task: "t" },
      { event: "ended", task: "t" },
      { at: at("01:00:00"), event: "ended", task: 7 },
      { at: "yesterday", event: "ended", task: "t" },
      { at: at("01:00:00"), event: "ended", task: "t", to: "nowhere", outcome: {}, worker: 3 },
      { at: at("01:00:00"), event: "worker_started", worker: "w1" },
      claim("t", "02:00:00", "1"),
      end("t", "02:30:00", "1", DONE),
    );
    expect(digest.damaged).toBe(4);
    expect(digest.tasks.get("t")?.last?.to).toBe("done");
  });
});
