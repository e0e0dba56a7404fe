import * as z from "zod/mini";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { duration, flag, list, text } from "../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../queue/operation.ts";
import { counts, countsInWords, pause, taskState } from "../queue/schemas.ts";
import type { Store } from "../queue/store.ts";
import { PRIORITIES } from "../queue/task.ts";
import { workerHostPort } from "../work/host.ts";
import { whyTask } from "../work/why.ts";
import { foodsByNumber } from "./food-names.ts";
import { type PitStore, pitOf } from "./pit-store.ts";
import { proveResults } from "./prove-results.ts";
import { reclaimStuck } from "./reclaim-stuck.ts";
import { type TidiedWaste, tidyWaste } from "./tidy-waste.ts";
import { snakeOfWaste } from "./waste.ts";
import { wasteFiles } from "./waste-files.ts";

export const pitInit = defineRunOperation({
  name: "pit init",
  summary: "create a pit: food/ claimed/ done/ scraps/ waste/, and a README with the protocol",
  access: "create",
  layout: "pit",
  input: z.strictObject({}),
  output: z.object({ pit: z.string(), readme: z.enum(["written", "there"]) }),
  async run({ store, use }) {
    const { writeIfAbsent } = await use(workerHostPort);
    const { readme } = await import("./readme.ts");
    writeIfAbsent(`${store.folder}/.viv/.gitignore`, "*\n"); // all of it can be rebuilt
    const isNew = writeIfAbsent(`${store.folder}/README.md`, readme());
    return { pit: store.location, readme: isNew ? ("written" as const) : ("there" as const) };
  },
});

/** `id` and `type` as everywhere; `food` is its id once more, `task` its words. */
const ofFood = { id: z.string(), food: z.string() };
const food = { ...ofFood, type: z.nullable(z.string()), task: z.string() };

export const pitStatus = defineRunOperation({
  name: "pit status",
  summary: "claims with their age; stuck food with the reason",
  access: "read",
  layout: "pit",
  input: z.strictObject({
    pit: text("the pit (default: --run)"),
  }),
  output: z.object({
    pit: z.string(),
    counts,
    paused: z.optional(pause),
    done_without_proof: z.number(),
    digesting: z.array(
      z.object({
        ...food,
        snake: z.string(),
        seconds: z.number(),
        quiet_seconds: z.number(),
        alive: z.boolean(),
      }),
    ),
    stuck: z.array(
      z.object({ ...food, state: taskState, why: z.string(), command: z.optional(z.string()) }),
    ),
    keeper: z.array(z.object(food)),
    results: z.array(
      z.object({
        ...ofFood,
        type: z.nullable(z.string()),
        snake: z.nullable(z.string()),
        state: z.string(),
        note: z.string(),
      }),
    ),
    unproven: z.array(z.object({ ...ofFood, result: z.string() })),
    quarantined: z.array(z.object({ name: z.string(), from: z.string(), reason: z.string() })),
    same_number: z.array(z.object({ number: z.number(), foods: z.array(z.string()) })),
  }),
  async run(context) {
    const { store } = context;
    const { unproven, quarantined } = await pitIn(store).oddities();
    const results = await pitIn(store).handResults();
    const keeper = [];
    for await (const { id } of store.list({ states: ["pending"], types: ["keeper"], limit: 100 })) {
      keeper.push(await describedFood(store, id));
    }
    const ids = new Set<string>(); // what moves meanwhile is listed twice
    for await (const { id } of store.list()) ids.add(id);
    return {
      pit: store.location,
      counts: countsInWords(await store.counts()),
      paused: (await store.paused()) ?? undefined,
      done_without_proof: await pitIn(store).doneWithoutProof(),
      digesting: await digesting(context),
      stuck: await stuck(context),
      keeper,
      results: await Promise.all(
        results.map(async ({ id, snake, state, ready }) => {
          const { type } = await describedFood(store, id);
          return { id, type, food: id, snake, state, note: noteFor(state, ready) };
        }),
      ),
      unproven: unproven.map(({ id, name }) => ({ id, food: id, result: `done/${name}` })),
      quarantined,
      same_number: foodsByNumber(ids),
    };
  },
});

function pitIn(store: Store): PitStore {
  const pit = pitOf(store);
  if (pit === null) throw new VivError("RUN_INVALID", "this is not a pit.");
  return pit;
}

async function digesting({ store, now }: RunContext) {
  const workers = new Map((await store.workers()).map((worker) => [worker.name, worker]));
  const found = [];
  for await (const { id, worker: snake = "?", since } of store.list({ states: ["claimed"] })) {
    const worker = workers.get(snake);
    const seconds = Math.max(0, Math.round((now() - Date.parse(since)) / 1000));
    found.push({
      ...(await describedFood(store, id)),
      snake,
      seconds,
      quiet_seconds: Math.round(worker?.quiet ?? seconds),
      alive: worker?.alive ?? false,
    });
  }
  return found.sort((a, b) => b.seconds - a.seconds);
}

/** Food that does not move by itself, or waits: with the first reason of `why`. */
async function stuck({ store, now }: RunContext) {
  const found = [];
  for await (const { id, state } of store.list({ states: ["failed", "review", "waiting"] })) {
    const { reasons } = await whyTask(store, id, now()).catch(() => ({ reasons: [] })); // moved on
    const [reason] = reasons;
    if (reason === undefined) continue;
    const { text: why, command } = reason;
    found.push({ ...(await describedFood(store, id)), state, why, command });
    if (found.length >= 100) break;
  }
  // Food that snakes have choked on waits in food/; the keeper's reports name it.
  for await (const { id } of store.list({ states: ["pending"], types: ["keeper"], limit: 100 })) {
    const food = isName(id) ? (await store.show(id))?.task?.payload.food : undefined;
    const view = isName(food) ? await store.show(food) : null;
    if (view?.state !== "pending") continue;
    const { reasons } = await whyTask(store, view.id, now()).catch(() => ({ reasons: [] }));
    const choke = reasons.find(({ code }) => code === "choked");
    if (choke === undefined) continue;
    const { text: why, command } = choke;
    found.push({ ...(await describedFood(store, view.id)), state: view.state, why, command });
  }
  return found;
}

function noteFor(state: string, ready: boolean): string {
  if (state === "unknown") return "eaten; its food was gone before viv saw it: never proven";
  if (ready) return "written by hand; the next sweep proves it";
  if (state === "failed") return "its food is in resting/stuck/; viv retry lets the sweep prove it";
  if (state === "gone" || state === "done") return "written by hand just now; it is proven soon";
  return "written by hand; its food is not free yet";
}

/** Without words for a name that no food of ours could have: doctor reports it. */
async function describedFood(store: Store, id: string) {
  const view = isName(id) ? await store.show(id) : null;
  const words = view?.task?.payload.task;
  return { id, type: view?.type ?? null, food: id, task: typeof words === "string" ? words : "" };
}

export const pitSweep = defineRunOperation({
  name: "pit sweep",
  summary: "cleanup duty, once: reclaim abandoned food, prove results, summarize and prune waste/",
  access: "write",
  layout: "pit",
  input: z.strictObject({
    pit: text("the pit (default: --run)"),
    stale_after: duration("silence until a worker counts as dead (default: 30m)"),
    keep_logs: duration("maximum age of a log (default: 7d)"),
  }),
  output: z.object({
    reclaimed: z.array(z.object({ ...ofFood, snake: z.string(), to: z.string() })),
    proven: z.array(z.string()),
    eaten: z.array(z.string()),
    review: z.array(z.string()),
    results: z.array(z.object({ ...ofFood, snake: z.nullable(z.string()), how: z.string() })),
    unproven: z.array(z.object({ ...ofFood, result: z.nullable(z.string()), note: z.string() })),
    adopted: z.number(),
    logs: z.number(),
    pruned: z.array(z.string()),
    kept: z.array(z.string()),
    trouble: z.optional(z.string()),
  }),
  async run(context, { stale_after, keep_logs }) {
    const { store } = context;
    const staleAfterSeconds =
      stale_after === undefined ? undefined : parseDuration(stale_after, "--stale-after") / 1000;
    const keepMs = parseDuration(keep_logs ?? "7d", "--keep-logs");
    const report = await store.reap({ staleAfterSeconds });
    const { adopted } = await store.sweep();
    const host = await context.use(workerHostPort);
    const limitMs = (staleAfterSeconds ?? DEFAULT_STALE_AFTER_SECONDS) * 1000;
    const stuck = await reclaimStuck(store, host, { now: context.now(), limitMs });
    const results = await proveResults(store, host);
    const tidied = await pitIn(store).alone("waste", () => tidy(context, keepMs));
    const { logs, pruned, kept, warning } =
      tidied ?? nothingTidied("another sweep is tidying waste/ just now");
    return {
      reclaimed: [...report.reaped, ...stuck].map(({ id, worker, to }) => {
        return { id, food: id, snake: worker, to };
      }),
      proven: results.filter(({ how }) => how === "proven").map(({ id }) => id),
      eaten: results.filter(({ how }) => how === "eaten").map(({ id }) => id),
      review: results.filter(({ how }) => how === "review").map(({ id }) => id),
      results: results.map(({ id, snake, how }) => ({ id, food: id, snake, how })),
      unproven: results
        .filter(({ how }) => !["proven", "eaten", "review"].includes(how))
        .map(({ id, unproven, how, note }) => ({
          id,
          food: id,
          result: unproven ? `done/${unproven}` : null,
          note: how === "lost" ? "taken away" : (note ?? how),
        })),
      adopted,
      logs,
      pruned,
      kept,
      trouble: warning,
    };
  },
});

const DEFAULT_STALE_AFTER_SECONDS = 1800;

async function tidy({ store, now }: RunContext, keepMs: number): Promise<TidiedWaste> {
  try {
    const snakes = new Set<string>();
    for await (const { worker } of store.list({ states: ["claimed"] })) snakes.add(worker ?? "");
    const isRunning = (name: string) => snakes.has(snakeOfWaste(name)?.snake ?? "?");
    return await tidyWaste(wasteFiles(store.location), { now: now(), keepMs, isRunning });
  } catch (error) {
    return nothingTidied(`waste/ cannot be tidied: ${(error as Error).message}`);
  }
}

function nothingTidied(warning: string): TidiedWaste {
  return { logs: 0, pruned: [], kept: [], warning };
}

export const pitToss = defineRunOperation({
  name: "pit toss",
  summary: "toss food into a pit: a task for the first free snake",
  access: "write",
  layout: "pit",
  input: z.strictObject({
    pit: text("the pit (default: --run)"),
    task: list("the task in words"),
    done_when: text("command that proves it is done (run in the pit)"),
    by: text("your name, for the record (default: the calling snake, or $USER)"),
    part_of: text("task that enqueued it (default: the food being digested)"),
    for: text("kind of work; workers select tasks by it (default: food; also keeper, planner)"),
    too_big: flag("give it to the planner to split"),
    after: list("ids of tasks that must be done first"),
    priority: z.optional(z.enum(PRIORITIES).check(z.describe("high, normal (default) or low"))),
    not_before: text("earliest start"),
    review: flag("a person must approve the result"),
    max_attempts: z.optional(
      z
        .int()
        .check(z.gte(1), z.lte(1000))
        .check(z.describe("attempts before failed/ (default: 20)")),
    ),
    timeout: text("time limit of one attempt"),
  }),
  output: z.object({
    id: z.string(),
    type: z.string(),
    state: taskState,
    path: z.string(),
    warnings: z.optional(z.array(z.string())),
  }),
  async run(context, given) {
    const { pit, task = [], for: whom, too_big, by, part_of, after, ...rest } = given;
    // One word alone is the task: the pit is known from --run, VIV_RUN or the folder.
    const words = (task.length === 0 && pit !== undefined ? [pit] : task).join(" ").trim();
    if (words === "" || (task.length === 0 && /^[.~]?\.?(\/|$)/.test(words))) {
      throw new VivError("USAGE", 'the task is missing; try: viv pit toss PIT "what to do"');
    }
    if (too_big && whom !== undefined && whom !== "planner") {
      throw new VivError("USAGE", `--too-big is for the planner, --type says ${whom}; choose one.`);
    }
    const eater = eaterOf(context);
    const parent = part_of ?? eater?.food;
    const type = whom ?? (too_big ? "planner" : "food");
    const { id, state, warnings } = await context.store.enqueue({
      ...rest,
      type,
      payload: { task: words },
      created_by: by ?? eater?.snake ?? context.here.env.USER ?? "keeper",
      parent: parent || undefined,
      depends_on: after,
    });
    const folder = state === "waiting" ? "resting/later" : "food";
    const path = `${context.store.folder}/${folder}/${id}.md`;
    return { id, type, state: state as "pending", path, warnings };
  },
});

/** The snake that runs this command, and its food, by a handler's environment. */
function eaterOf({ here, store }: RunContext): { snake: string; food: string } | null {
  const { VIV_RUN, VIV_WORKER_ID: snake, VIV_TASK_ID: food } = here.env;
  return VIV_RUN === store.location && snake && food ? { snake, food } : null;
}
