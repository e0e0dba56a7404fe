import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { parseConfig } from "../../src/app/config.ts";
import { Spending } from "../../src/engines/costs/spending.ts";
import { readyEngine } from "../../src/engines/named.ts";
import { openRun, workerHost } from "../../src/main.ts";
import type { Claim, Store } from "../../src/queue/store.ts";
import { Attempt, type ReadyRoute, resolveHandler } from "../../src/work/attempt.ts";
import { routesSection } from "../../src/work/config-route.ts";
import type { WorkerHost } from "../../src/work/host.ts";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { Outage } from "../support/outage.ts";
import { DIST } from "../support/processes.ts";

/**
 * The worker's machine is in trouble for three seconds, at any point of an attempt: real processes
 * and a real store, but no real seconds. Whatever it is, the work is done once, and counted once.
 */

const ERRORS = ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN"];

/** The phase in which the trouble begins; it lasts until the attempt has waited for three seconds. */
const PHASES = [
  "preparation",
  "start",
  "running",
  "exit",
  "proof",
  "artifact",
  "usage",
  "record",
] as const;
type Phase = (typeof PHASES)[number];

let outage: Outage | undefined;

afterEach(() => {
  outage?.close();
  outage = undefined;
});

const HANDLER = `#!/bin/sh
echo ran >> ran
echo "said something"
`;

const CLAUDE = `#!/bin/sh
cat > /dev/null
echo ran >> ran
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"claude-sonnet-9"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"The answer.","session_id":"s-1","total_cost_usd":3.6,"modelUsage":{"claude-sonnet-9":{"inputTokens":10,"outputTokens":5,"costUSD":3.6}}}'
`;

async function scene(route: string) {
  const home = newFolder();
  for (const [name, text] of [["handle.sh", HANDLER] as const, ["claude.sh", CLAUDE] as const]) {
    writeFileSync(join(home, name), text);
    chmodSync(join(home, name), 0o755);
  }
  writeFileSync(join(home, "prompt.md"), "Do it.");
  const text = `[handlers.t]\n${route}\ndone_when = "echo proven >> proofs"\n`;
  const config = await parseConfig(text, join(home, "viv.toml"));
  const store = await openRun(join(home, "run"), { create: true, durability: "fast" });
  const host = await workerHost(store.location, { PATH: process.env.PATH, HOME: home }, home);
  const found = config.section(routesSection).get("t");
  if (!found) throw new Error("no route");
  const handler = resolveHandler(found.handler, home);
  const engine = found.engine && readyEngine(found.engine, handler, home);
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const made: ReadyRoute = { ...found, handler, folder: home, env, ...(engine ? { engine } : {}) };
  await store.enqueue({ id: "a", type: "t" });
  const [claim] = await store.claim({ worker: "w", max: 1 });
  if (!claim) throw new Error("nothing to claim");
  return { home, store, host, route: made, claim };
}

/** Begins the outage when the attempt comes to the phase. */
function armed(phase: Phase, store: Store, host: WorkerHost): { store: Store; host: WorkerHost } {
  const on = () => outage?.begin();
  let starts = 0;
  const handlers: WorkerHost["handlers"] = {
    ...host.handlers,
    start: (command) => {
      const isProof = ++starts > 1 && command.argv[0] === "/bin/sh";
      if (phase === "start" || (phase === "proof" && isProof)) on();
      const running = host.handlers.start(command);
      if (phase === "running" && running.ref !== null) on();
      if (phase !== "exit" || isProof) return running;
      return { ...running, finished: running.finished.finally(on) };
    },
  };
  const evidence: WorkerHost["evidence"] = {
    ...host.evidence,
    writeArtifact: (...args) => {
      if (phase === "artifact") on();
      host.evidence.writeArtifact(...args);
    },
  };
  const watched = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const [line] = args as [{ event?: string } | undefined];
        if (phase === "usage" && name === "append" && line?.event === "usage") on();
        if (phase === "record" && name === "complete") on();
        return value.apply(target, args);
      };
    },
  });
  return { store: watched, host: { ...host, handlers, evidence } };
}

async function attempt(phase: Phase, error: string, at: Awaited<ReturnType<typeof scene>>) {
  const { store, host } = armed(phase, at.store, at.host);
  const troubles: unknown[] = [];
  let waited = 0;
  outage = new Outage(error);
  if (phase === "preparation") outage.begin();
  const end = await new Attempt(at.claim as Claim, at.route, store, host, {
    killAfterMs: 1_000,
    logBytes: 100_000,
    prices: new Map(),
    budget: { run: {}, day: {} },
    spending: new Spending(store, Date.now),
    onTrouble: (_, trouble) => void troubles.push(trouble),
    pause: async (ms) => {
      waited += ms;
      if (waited >= 3_000) outage?.end();
    },
  }).run();
  const { failures } = outage;
  outage.close();
  return { end, troubles, failures };
}

/** To record an end, nothing is started: what is only about that is not met there. */
function isMet(error: string, phase: Phase): boolean {
  return phase !== "record" || !["ENOMEM", "EAGAIN"].includes(error);
}

async function expectDoneOnce(at: Awaited<ReturnType<typeof scene>>): Promise<void> {
  const view = await at.store.show("a");
  expect(view).toMatchObject({ state: "done" });
  expect(view?.history.map((record) => "outcome" in record && record.outcome)).toEqual(["done"]);
  expect(readFileSync(join(at.home, "ran"), "utf8")).toBe("ran\n");
  expect(readFileSync(join(at.home, "proofs"), "utf8")).toBe("proven\n");
  expect(existsSync(join(at.store.location, ".viv/processes/a.json"))).toBe(false);
}

describe.each(ERRORS)("three seconds of %s", (error) => {
  const phases = PHASES.filter((phase) => phase !== "artifact" && phase !== "usage");
  test.each(phases)("at a handler's %s: done, once", async (phase) => {
    const at = await scene('handler = "./handle.sh"');
    const { end, failures } = await attempt(phase, error, at);
    expect(failures > 0).toBe(isMet(error, phase));
    expect(end).toMatchObject({ kind: "ended", outcome: "done" });
    await expectDoneOnce(at);
    await at.store.close();
  });

  test.each(PHASES)("at an engine's %s: done, once, and paid once", async (phase) => {
    const at = await scene('engine = "claude"\nbinary = "./claude.sh"\nprompt = "prompt.md"');
    const { end, failures } = await attempt(phase, error, at);
    expect(failures > 0).toBe(isMet(error, phase));
    expect(end).toMatchObject({ kind: "ended", outcome: "done" });
    await expectDoneOnce(at);
    expect(readFileSync(join(at.store.location, "artifacts/a.md"), "utf8")).toBe("The answer.\n");
    const lines: { event: string; usd?: number }[] = [];
    for await (const line of at.store.ledger()) lines.push(line as never);
    expect(lines.filter(({ event }) => event === "usage").map(({ usd }) => usd)).toEqual([3.6]);
    await at.store.close();
  });
});

describe("a worker that stops while an end is held", () => {
  const HOOK = fileURLToPath(new URL("full-disk.cjs", import.meta.url));

  /** Its handler fills the disk and ends with 0. */
  async function held() {
    const home = newFolder();
    const [run, full, handler] = ["run", "full", "handle.sh"].map((name) => join(home, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(handler, `#!/bin/sh\necho ran >> ${home}/ran\ntouch ${full}\n`);
    chmodSync(handler, 0o755);
    const store = await openRun(run, { create: true, durability: "fast" });
    await store.enqueue({ id: "a", type: "t" });
    const args = [join(DIST, "viv.cjs"), "work", "--run", run, "--handler", handler];
    const worker = spawn(process.execPath, ["--require", HOOK, ...args, "--worker-id", "w"], {
      cwd: home,
      env: { ...process.env, FULL_DISK: full, FULL_DISK_AT: run },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    worker.stdout.on("data", (text) => {
      said += text;
    });
    await until("it is held", () => said.includes("disk is full"));
    return { home, run, full, store, worker, said: () => said };
  }

  const exitOf = async (worker: ChildProcess) => within("it ends", once(worker, "exit"));

  test("records it when it can, and then stops", async () => {
    const { home, full, store, worker, said } = await held();
    worker.kill("SIGTERM");
    await until("it is heard", () => said().includes("stopping"));
    expect(await store.show("a")).toMatchObject({ state: "claimed" });
    rmSync(full);
    expect(await exitOf(worker)).toEqual([0, null]);
    expect(await store.show("a")).toMatchObject({ state: "done", history: [{ outcome: "done" }] });
    expect(readFileSync(join(home, "ran"), "utf8")).toBe("ran\n");
    await store.close();
  });

  test("told twice, says how to keep the work, and that does it", async () => {
    const { run, full, store, worker, said } = await held();
    worker.kill("SIGTERM");
    await until("it is heard", () => said().includes("stopping"));
    worker.kill("SIGTERM");
    await exitOf(worker);
    rmSync(full);
    const [, command = ""] = said().match(/viv (complete a --worker w --token \d+)\./) ?? [];
    expect(command).not.toBe("");
    const args = [join(DIST, "viv.cjs"), ...command.split(" "), "--run", run];
    const rescue = spawn(process.execPath, args, { stdio: "ignore" });
    expect(await exitOf(rescue)).toEqual([0, null]);
    expect(await store.show("a")).toMatchObject({ state: "done", history: [{ outcome: "done" }] });
    await store.close();
  });
});
