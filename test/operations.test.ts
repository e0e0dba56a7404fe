import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { CATALOG } from "../src/app/catalog.ts";
import { findConfig } from "../src/app/find-run.ts";
import { openingFor, type Surroundings, withContext } from "../src/app/invoke.ts";
import { portsHere } from "../src/app/ports.ts";
import { isVivError } from "../src/base/errors.ts";
import { openRun } from "../src/main.ts";
import type { Io } from "../src/operation/io.ts";
import { isStream, type Operation } from "../src/operation/operation.ts";
import { pageOperations } from "../src/overview/page/operations.ts";
import { unitFiles } from "../src/platform/systemd/unit-files.ts";
import { within } from "./support/deadline.ts";
import { newFolder } from "./support/folders.ts";

/**
 * Every operation, called as a server would: with an input, without a terminal, a command line or
 * standard input. It answers by its schema, or refuses with an error of its own.
 */

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const NO_INPUT = async function* (): AsyncGenerator<never> {};

/** An operation, and how it is called here. `run`: which folder it is about; `setUp`: what comes first. */
interface Sample {
  input?: Record<string, unknown>;
  run?: "run" | "pit";
  setUp?: () => Promise<unknown>;
  /** It goes on until it is stopped: after its first event. */
  isEndless?: boolean;
  body?: string;
  /** The code of the error that it answers with: there is nothing of that name. */
  refuses?: string;
}

const git = (...args: string[]) => execFileSync("git", ["-C", folder, ...args]);

const board = async () => {
  git("init", "-q", "-b", "main");
  git("config", "user.name", "t");
  git("config", "user.email", "t@example.org");
  writeFileSync(join(folder, "board.org"), "#+TODO: OPEN WRITE | DONE\n* OPEN a task\n");
  git("add", ".");
  git("commit", "-qm", "board");
};
const claimedBoard = async () => {
  await board();
  await called("board claim", { input: { slug: "a-task", agent: "moss" } });
};

const crew = async () => {
  const text = `#+TITLE: crew\n* moss\n:PROPERTIES:\n:DEF: moss.md\n:ENGINE: exec\n:COMMAND: true\n:INTERVAL: 1h\n:END:\n`;
  writeFileSync(join(folder, "crew.org"), text);
  writeFileSync(join(folder, "moss.md"), "You are moss.\n");
};
const usedCrew = async () => {
  await crew();
  await called("crew up", { input: { manifest: "crew.org" }, isEndless: true });
};

const handler = () => {
  const path = join(folder, "handle.sh");
  writeFileSync(path, "#!/bin/sh\nexit 0\n");
  chmodSync(path, 0o755);
  return path;
};
const task = async () => {
  const spec = { type: "t", id: "a", review: true };
  await called("enqueue", { run: "run", input: spec });
};
const family = async () => {
  await task();
  await called("enqueue", { run: "run", input: { type: "t", id: "b", parent: "a" } });
};
const claimed = async () => {
  await task();
  await called("claim", { run: "run", input: { worker: "w" } });
};
const workspace = async () => {
  await task();
  mkdirSync(join(folder, "run/workspaces/a"), { recursive: true });
};
/** A done task with a branch, as a worker leaves it. */
const landable = async () => {
  await board();
  handler();
  const route =
    '[handlers.default]\nhandler = "./handle.sh"\nworkspace = "worktree"\nrepository = "."\n';
  writeFileSync(join(folder, "viv.toml"), route);
  await called("enqueue", { run: "run", input: { type: "t", id: "b" } });
  await called("work", { run: "run", input: { drain: true } });
};
const reviewed = async () => {
  await claimed();
  await called("complete", { run: "run", input: { worker: "w", id: "a" } });
};
const pit = async () => void (await called("pit init", { run: "pit" }));
/** With food that is digested, stuck, for the keeper, and with results by hand. */
const usedPit = async () => {
  await pit();
  const tossed: string[] = [];
  for (const more of [{}, {}, {}, { for: "keeper" }]) {
    const input = { pit: "pit", task: ["dig"], done_when: "false", ...more };
    const { id } = (await called("pit toss", { run: "pit", input })) as { id: string };
    tossed.push(id);
  }
  await called("cancel", { run: "pit", input: { ids: [tossed[1]] } });
  await called("claim", { run: "pit", input: { worker: "snake-1" } });
  writeFileSync(join(folder, `pit/done/${tossed[2]}.result.md`), "done by hand\n");
};
const agents = async () => {
  await pit();
  handler();
  const text = '[service]\npit = "./pit"\n[agents.snake-1]\nhandler = "./handle.sh"\n';
  writeFileSync(join(folder, "agents.toml"), text);
};

const configured = async () =>
  writeFileSync(join(folder, "viv.toml"), `[handlers.t]\nhandler = "${handler()}"\n`);

const scheduled = async () => {
  await task();
  const text = '[[schedule]]\nname = "nightly"\ncron = "@daily"\ntype = "t"\n';
  writeFileSync(join(folder, "viv.toml"), text);
};

const ofClaim = { worker: "w", id: "a" };
const SAMPLES: Record<string, Sample> = {
  init: { run: "run" },
  "init template": { input: { template: "pit" } },
  enqueue: { run: "run", input: { type: "t" } },
  "enqueue lines": { run: "run", body: '{"type":"t"}\n{"type":"u"}\n' },
  "config check": { setUp: configured },
  "config show": { setUp: configured },
  import: { run: "run", input: { from: "gh", repo: "a/b" }, refuses: "UNSUPPORTED" },
  pr: { run: "run", setUp: task, input: { ids: ["a"] }, refuses: "WRONG_STATE" },
  sync: { run: "run", setUp: task },
  "pit init": { run: "pit" },
  "pit toss": { run: "pit", setUp: pit, input: { pit: "pit", task: ["dig"] } },
  "pit status": { run: "pit", setUp: usedPit },
  "pit sweep": { run: "pit", setUp: usedPit },
  "board init": { setUp: board },
  "board ls": { setUp: board },
  "board next": { setUp: board, input: { agent: "moss" } },
  "board claim": { setUp: board, input: { slug: "a-task", agent: "moss" } },
  "board advance": { setUp: claimedBoard, input: { slug: "a-task", agent: "moss" } },
  "board bounce": { setUp: claimedBoard, input: { slug: "a-task", agent: "moss", note: "no" } },
  "board open": { setUp: board, input: { title: ["another"] } },
  "board show": { setUp: board, input: { slug: "a-task" } },
  "board log": { setUp: board, input: { slug: "a-task" } },
  "board audit": { setUp: board },
  cancel: { run: "run", setUp: task, input: { ids: ["a"] } },
  retry: { run: "run", setUp: task, input: { ids: ["a"] }, refuses: "WRONG_STATE" },
  approve: { run: "run", setUp: reviewed, input: { ids: ["a"] } },
  runs: { setUp: task },
  export: { run: "run", setUp: task, input: { html: "site" } },
  archive: { setUp: async () => void (await called("init", { run: "run" })) },
  rm: { setUp: task, input: { dir: "run", yes: true } },
  pause: { run: "run", setUp: task, input: { note: "lunch" } },
  resume: { run: "run", setUp: task },
  reject: { run: "run", setUp: reviewed, input: { ids: ["a"], note: "no test" } },
  merge: { run: "run", setUp: landable, input: { all: true } },
  "crew up": { setUp: crew, input: { manifest: "crew.org" }, isEndless: true },
  "crew ps": { setUp: usedCrew },
  // The lock of a crew is its process's for life, so that this one is taken for busy.
  "crew tick": { setUp: usedCrew, input: { name: "moss" }, refuses: "WORKER_TAKEN" },
  "crew pause": { setUp: usedCrew, input: { name: "moss" } },
  "crew resume": { setUp: usedCrew, input: { name: "moss" } },
  "crew stop": { setUp: usedCrew },
  "keeper up": { setUp: crew, input: { def: "moss.md", command: "true" }, isEndless: true },
  work: { run: "run", setUp: task, input: { handler: "handle.sh", drain: true } },
  ps: { setUp: task },
  down: { setUp: task },
  "schedule ls": { run: "run", setUp: scheduled },
  "schedule run": { run: "run", setUp: scheduled, input: { name: "nightly" } },
  "schedule pause": { run: "run", setUp: scheduled, input: { name: "nightly" } },
  "schedule resume": { run: "run", setUp: scheduled, input: { name: "nightly" } },
  up: { setUp: agents, input: { config: "agents.toml" }, isEndless: true },
  "warrant file": { input: { pid: process.pid } },
  "warrant ls": {},
  "warrant show": { input: { id: "w1" }, refuses: "WARRANT_NOT_FOUND" },
  "warrant screen": { input: { id: "w1" }, refuses: "WARRANT_NOT_FOUND" },
  "warrant withdraw": { input: { id: "w1" }, refuses: "WARRANT_NOT_FOUND" },
  epitaph: { input: { id: "w1" }, refuses: "WARRANT_NOT_FOUND" },
  "dog pool status": {},
  "dog status": {},
  "dog pool allocate": { input: { warrant: "w1" }, refuses: "WARRANT_NOT_FOUND" },
  "dog pool release": { input: { dog: "d1" }, refuses: "WARRANT_NOT_FOUND" },
  "dog dances": {},
  "dog warrants": {},
  "warden up": { isEndless: true },
  "warden status": {},
  "warden receipts": {},
  "warden pause": {},
  "warden resume": {},
  alive: {},
  claim: { run: "run", setUp: task, input: { worker: "w" } },
  complete: { run: "run", setUp: claimed, input: ofClaim },
  fail: { run: "run", setUp: claimed, input: ofClaim },
  release: { run: "run", setUp: claimed, input: ofClaim },
  heartbeat: { run: "run", setUp: task, input: { worker: "w" } },
  ls: { run: "run", setUp: task },
  diff: { run: "run", setUp: task, input: { id: "a" }, refuses: "WRONG_STATE" },
  show: { run: "run", setUp: task, input: { id: "a" } },
  top: { run: "run", setUp: claimed },
  tree: { run: "run", setUp: family },
  why: { run: "run", setUp: task, input: { id: "a" } },
  status: { run: "run", setUp: task },
  "fleet status": { setUp: agents, input: { config: "agents.toml" } },
  report: { run: "run", setUp: reviewed },
  watch: { run: "run", setUp: task, isEndless: true },
  "ledger tail": { run: "run", setUp: task, input: { follow: true }, isEndless: true },
  "ledger show": { run: "run", setUp: task },
  "ledger verify": { run: "run", setUp: task },
  "ledger export": { run: "run", setUp: task, input: { format: "csv" } },
  logs: { run: "run", setUp: task, input: { id: "a" } },
  costs: { run: "run", setUp: task },
  prices: {},
  engines: {},
  accounts: {},
  gate: {},
  "notify ls": {},
  "notify test": { refuses: "TARGET_NOT_FOUND" },
  "notify retry": {},
  workspaces: { run: "run", setUp: workspace },
  serve: { run: "run", setUp: task, input: { port: 0 }, isEndless: true },
  token: {},
  service: { run: "run", setUp: task, input: { action: "uninstall" } },
  reap: { run: "run", setUp: task },
  doctor: { run: "run", setUp: task },
  cards: { run: "run", setUp: family },
  neighbours: { run: "run", setUp: family, input: { id: "a" } },
  graph: { run: "run", setUp: family },
  timeline: { run: "run", setUp: claimed },
  fleet: { run: "run", setUp: claimed },
  money: { run: "run", setUp: claimed },
};

/** Those of the catalogue, and those that their flags mean instead. */
async function allOperations(): Promise<Map<string, Operation>> {
  const all = new Map<string, Operation>(pageOperations.map((op) => [op.name, op]));
  for (const { load } of CATALOG.commands) {
    const command = await load();
    all.set(command.op.name, command.op);
    for (const flags of [{ jsonl: "-" }, { config: "agents.toml" }, { template: "pit" }]) {
      const other = await command.instead?.(flags);
      if (other) all.set(other.op.name, other.op);
    }
  }
  return all;
}

async function called(name: string, sample: Sample): Promise<unknown> {
  const op = (await allOperations()).get(name);
  if (op === undefined) throw new Error(`there is no operation ${name}`);
  const stop = new AbortController();
  const env = { PATH: process.env.PATH, HOME: folder, VIV_STATE: join(folder, "state") };
  const { body } = sample;
  const around: Surroundings = {
    ...{ cwd: folder, env, now: Date.now, open: openRun },
    ...{ signal: stop.signal, urgent: new AbortController().signal },
    input:
      body === undefined
        ? NO_INPUT
        : async function* () {
            yield body;
          },
    provide: portsHere({
      ...{ env, cwd: folder, notice: () => {} },
      program: { node: process.execPath, viv: "viv", unitFiles: async () => unitFiles },
    }),
    warn: () => {},
  };
  const config = await findConfig({ ...around, stderr: { write: () => {} } } as unknown as Io);
  const path = join(folder, sample.run ?? "run");
  const run = op.access === undefined ? null : { path, options: openingFor(op) };
  if (name === "work") handler();
  const input = op.input.parse(sample.input ?? {});
  return within(
    `${name} answers`,
    withContext(
      around,
      { config, run, runPlace: async () => ({ path, from: path }) },
      async (context) => {
        if (!isStream(op)) return op.run(context, input);
        const events = op.stream(context, input);
        for (;;) {
          const { value, done } = await events.next();
          if (done) return value;
          expect(op.event.safeParse(value).error, name).toBeUndefined();
          assertTaskShape(JSON.parse(JSON.stringify(value)), op);
          if (sample.isEndless) stop.abort();
        }
      },
    ),
  );
}

/**
 * A task has one shape in every answer: `id`, and with a state also `type`. Other names of the two
 * (swarm-lib's, the pit's, the board's) only stand beside them.
 */
function assertTaskShape(value: unknown, op: Operation): void {
  if (Array.isArray(value)) for (const item of value) assertTaskShape(item, op);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  const one = value as Record<string, unknown>;
  const said = `${op.name}: ${JSON.stringify(one)}`;
  for (const other of ["task_id", "food", "slug"]) {
    // A finding of the audit is about a commit.
    if (other in one && !("code" in one)) expect(one.id, said).toBe(one[other]);
  }
  if ("task_type" in one) expect(one.type, said).toBe(one.task_type);
  const isOfRun = op.access !== undefined && "id" in one && "state" in one;
  if (isOfRun) expect(Object.keys(one), said).toContain("type");
  for (const inner of Object.values(one)) assertTaskShape(inner, op);
}

it("is called here, each of them", async () => {
  expect(Object.keys(SAMPLES).sort()).toEqual([...(await allOperations()).keys()].sort());
});

describe.each(Object.entries(SAMPLES))("%s", (name, sample) => {
  it("is called without a terminal", async () => {
    await sample.setUp?.();
    if (sample.refuses !== undefined) {
      const refusal = await called(name, sample).catch((error: unknown) => error);
      if (!isVivError(refusal)) throw refusal;
      expect(refusal.code).toBe(sample.refuses);
      return;
    }
    const output = await called(name, sample);
    const op = (await allOperations()).get(name) as Operation;
    const plain = JSON.parse(JSON.stringify(output));
    expect(op.output.safeParse(plain).error, JSON.stringify(plain)).toBeUndefined();
    assertTaskShape(plain, op);
  });

  it("says in JSON Schema what it takes and gives", async () => {
    const op = (await allOperations()).get(name) as Operation;
    expect(z.toJSONSchema(op.input, { io: "input" })).toMatchObject({ type: "object" });
    expect(z.toJSONSchema(op.output)).toBeTypeOf("object");
    if (isStream(op)) expect(z.toJSONSchema(op.event)).toBeTypeOf("object");
  });
});
