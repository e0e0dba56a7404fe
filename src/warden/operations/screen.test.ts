import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { TmuxServer, warrantFor } from "../../../test/support/tmux.ts";
import { wardenPorts } from "../../app/warden-ports.ts";
import type { Context } from "../../operation/operation.ts";
import { wardenFilesIn } from "../warden-files.ts";
import { wardenReceipts } from "./receipts.ts";
import { warrantScreen } from "./screen.ts";

async function warden() {
  const folder = newFolder();
  const state = join(folder, "warden");
  mkdirSync(state, { mode: 0o700 });
  const env = { PATH: process.env.PATH, HOME: folder, VIV_STATE: folder };
  const ports = await wardenPorts(env, folder);
  const here = { cwd: folder, env };
  const context = { now: Date.now, here, use: async () => ports } as unknown as Context;
  return { folder, state, files: wardenFilesIn(state), context };
}

describe("the screen of a warrant's target", () => {
  it("is its terminal as it is now, without typing anything", async () => {
    const { state, files, context } = await warden();
    const tmux = new TmuxServer();
    tmux.session("agent-1", "sh", "-c", "printf 'Simmering…\\n\\033[31mred\\033[0m\\n'; exec cat");
    await tmux.shows("agent-1", "red");
    await files.file(warrantFor({ target: "agent-1", socket: tmux.socket }), undefined);
    const { warrants } = files.queued();
    const id = warrants[0]?.id ?? "";
    const before = tmux.screen("agent-1");
    const seen = await warrantScreen.run(context, { id, state });
    expect(seen).toMatchObject({ target: "agent-1", source: "screen" });
    expect(seen.lines.join("\n")).toContain("Simmering…");
    expect(tmux.screen("agent-1")).toBe(before);
    tmux.run("kill-session", "-t", "agent-1");
    expect(await warrantScreen.run(context, { id, state })).toMatchObject({ source: "none" });
  });

  it("is the end of the log of a process without a terminal", async () => {
    const { folder, state, files, context } = await warden();
    const child = spawn("sleep", ["600"], { stdio: "ignore", detached: true });
    onTestFinished(() => void child.kill());
    const log = join(folder, "out.log");
    writeFileSync(log, Array.from({ length: 5000 }, (_, i) => `line ${i}\n`).join(""));
    const target = String(child.pid);
    await files.file(warrantFor({ kind: "pid", target, watch: [log] }), undefined);
    const id = files.queued().warrants[0]?.id ?? "";
    const seen = await warrantScreen.run(context, { id, state });
    expect(seen).toMatchObject({ source: "log", path: log });
    expect(seen.lines.at(-1)).toBe("line 4999");
    expect(seen.lines).toHaveLength(60);
  });
});

it("lists receipts, the newest first, with how each process ended", async () => {
  const { state, files, context } = await warden();
  mkdirSync(join(state, "completed"));
  for (const [dog, verdict, day] of [
    ["dog-1", "pardoned", "17"],
    ["dog-2", "executed", "18"],
  ] as const) {
    const gone_at = `2026-11-${day}T07:00:05.000Z`;
    const process = { pid: 7, started: "1", parent: 1, command: "claude", signal: "SIGTERM" };
    files.writeReceipt({
      ...{ dog, warrant: warrantFor({ target: dog }), bound: null, verdict, why: "silent" },
      ...{ started_at: `2026-11-${day}T07:00:00.000Z`, ended_at: gone_at, duration_ms: 5000 },
      ...{ attempts: [], screen_before: [], screen_after: [], tree: [], evidence: [] },
      exit: verdict === "executed" ? [{ ...process, signal: "SIGTERM", gone_at }] : [],
      ...{ survivors: [], reaped: ["port.1"], told: [] },
    });
  }
  const all = await wardenReceipts.run(context, { state });
  expect(all.receipts.map(({ dog }) => dog)).toEqual(["dog-2", "dog-1"]);
  expect(all.receipts[0]?.exit).toMatchObject([{ pid: 7, signal: "SIGTERM" }]);
  expect(all.verdicts).toMatchObject({ pardoned: 1, executed: 1, failed: 0 });
  const one = await wardenReceipts.run(context, { state, limit: 1 });
  expect(one).toMatchObject({ more: 1, receipts: [{ reaped: ["port.1"] }] });
  const late = await wardenReceipts.run(context, { state, since: "2026-11-18" });
  expect(late.receipts.map(({ dog }) => dog)).toEqual(["dog-2"]);
});
