// A run with many tasks in all states and the ledger of a week, written as files: to enqueue, claim
// and end a hundred thousand tasks would take many times as long as to measure what shows them.

import { appendFileSync, linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { idOf } from "./fill.mjs";

const WORKERS = [
  "ada",
  "bao",
  "cleo",
  "dov",
  "eve",
  "finn",
  "gus",
  "hana",
  "ines",
  "jun",
  "kim",
  "lou",
];
const TYPES = ["fix", "test", "docs", "review", "refactor", "research"];
const PLACES = [
  "the parser of dates",
  "the cache key of the build",
  "the retry of uploads",
  "the table of prices",
  "the login form",
  "the index of the search",
];
const FAILURES = [
  "exit 1: 3 tests of the suite failed",
  "timed out after 20m",
  "unproven: npm test exited with 1",
  "exit 2: cannot find module './rates.ts'",
];
/** Of a hundred tasks; the rest is done. */
const SHARE = { waiting: 6, pending: 10, claimed: 0.1, review: 0.9, failed: 8 };
/** One in so many was done by an engine, with steps and dollars. */
const WITH_ENGINE = 8;
const STEPS = 6;
const DAYS = 7;
const DAY_MS = 24 * 3_600_000;

/** Makes the run `path`; returns how many tasks are in each state. */
export async function makeLargeRun(openRun, path, size, now = Date.now()) {
  const store = await openRun(path, { create: true, durability: "fast" });
  await store.close();
  for (const worker of WORKERS) mkdirSync(join(path, "claimed", worker), { mode: 0o700 });
  const ledger = new DailyLines(join(path, "ledger"));
  const counts = { waiting: 0, pending: 0, claimed: 0, review: 0, done: 0, failed: 0 };
  for (let number = 1; number <= size; number++) {
    const state = stateOf(number, size);
    counts[state]++;
    const at = now - DAYS * DAY_MS + Math.floor((number / size) * (DAYS * DAY_MS - 60_000));
    writeTask(path, number, state, at);
    for (const line of linesOf(number, state, at)) ledger.add(line);
  }
  ledger.write();
  return counts;
}

/** Old ones are done or failed, the latest wait: as in a run that works off a long list. */
function stateOf(number, size) {
  const left = ((size - number) * 100) / size;
  const { waiting, pending, claimed, review, failed } = SHARE;
  if (left < waiting) return "waiting";
  if (left < waiting + pending) return "pending";
  if (left < waiting + pending + claimed) return "claimed";
  if (left < waiting + pending + claimed + review) return "review";
  return number % Math.round(100 / failed) === 0 ? "failed" : "done";
}

function writeTask(path, number, state, at) {
  const id = idOf(number);
  const worker = WORKERS[number % WORKERS.length];
  const folder = state === "claimed" ? join("claimed", worker) : state;
  const file = join(path, folder, `${id}.json`);
  const task = {
    created_at: new Date(at).toISOString(),
    created_by: "bench",
    deadline: null,
    depends_on: state === "waiting" || number % 5 === 0 ? [idOf(Math.max(1, number - 1))] : [],
    payload: { goal: titleOf(number), files: [`src/part-${number % 400}.ts`], number },
    run_id: "run",
    task_id: id,
    task_type: typeOf(number),
    tier_hint: null,
    ...(number % 40 === 0 && { priority: "high" }),
    max_attempts: 3,
  };
  writeFileSync(file, `${JSON.stringify(task, null, 2)}\n`, { mode: 0o600 });
  linkSync(file, join(path, ".viv/ids", `${id}.json`));
}

function titleOf(number) {
  const verb = ["Repair", "Test", "Describe", "Check", "Simplify", "Look into"][number % 6];
  return `${verb} ${PLACES[number % PLACES.length]}, part ${number}`;
}

function typeOf(number) {
  return TYPES[number % TYPES.length];
}

function* linesOf(number, state, begin) {
  const [id, type] = [idOf(number), typeOf(number)];
  const worker = WORKERS[number % WORKERS.length];
  const at = (seconds) => new Date(begin + seconds * 1000).toISOString();
  yield {
    at: at(0),
    event: "enqueued",
    task: id,
    type,
    to: state === "waiting" ? "waiting" : "pending",
  };
  if (state === "waiting" || state === "pending") return;
  const token = `${begin * 1000 + number}`;
  const of = { task: id, worker, token, attempt: 1 };
  yield { at: at(5), event: "claimed", ...of };
  if (number % WITH_ENGINE === 0) yield* engineLines(of, type, at);
  if (state === "claimed") return;
  const outcome = state === "failed" ? "failed" : "done";
  const end = { at: at(300), event: "ended", ...of, outcome, from: "claimed", to: state };
  if (state === "failed") yield { ...end, note: FAILURES[number % FAILURES.length] };
  else yield { ...end, ...(number % 3 !== 0 && { proof: "passed" }) };
  if (state === "done" && number % 4 === 0) {
    yield {
      at: at(330),
      event: "landed",
      task: id,
      commit: number.toString(16).padStart(40, "0"),
      into: "main",
    };
  }
}

function* engineLines(of, type, at) {
  const { task: _, ...rest } = of;
  const tokens = { input: 1200, output: 300, cache_read: 9000, cache_write: 0 };
  const priced = { model: "opus", usd: 0.012, source: "reported" };
  for (let step = 0; step < STEPS; step++) {
    const action = {
      kind: "tool",
      tool: step % 2 ? "Edit" : "Read",
      target: `src/part-${step}.ts`,
    };
    yield {
      at: at(20 + step * 40),
      event: "step",
      ...of,
      type,
      agent: rest.worker,
      ...action,
      ...priced,
      tokens,
    };
  }
  const models = [{ ...tokens, ...priced, usd: 0.08 }];
  yield {
    at: at(290),
    event: "usage",
    ...of,
    type,
    engine: "claude",
    models,
    usd: 0.08,
    tokens: 63_000,
  };
}

/** Lines in the file of their day, as a ledger has them. */
class DailyLines {
  #folder;
  #days = new Map();

  constructor(folder) {
    this.#folder = folder;
  }

  add(line) {
    const day = line.at.slice(0, 10);
    const lines = this.#days.get(day) ?? [];
    this.#days.set(day, lines);
    lines.push(JSON.stringify(line));
    if (lines.length >= 20_000) this.#append(day, lines);
  }

  write() {
    for (const [day, lines] of this.#days) this.#append(day, lines);
  }

  #append(day, lines) {
    appendFileSync(join(this.#folder, `${day}.jsonl`), lines.map((one) => `${one}\n`).join(""), {
      mode: 0o600,
    });
    lines.length = 0;
  }
}
