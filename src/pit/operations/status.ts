import * as z from "zod/mini";
import { isName } from "../../base/names.ts";
import { text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { counts, taskState } from "../../queue/schemas.ts";
import type { Store } from "../../queue/store.ts";
import { whyTask } from "../../work/why.ts";
import { numberOf } from "../food-names.ts";
import { pitOf } from "../store.ts";

const food = { food: z.string(), task: z.string() };

export const pitStatus = defineRunOperation({
  name: "pit status",
  summary: "who is digesting what, for how long; what is stuck, and why",
  access: "read",
  layout: "pit",
  input: z.strictObject({
    pit: text("the pit (default: as --run)"),
  }),
  output: z.object({
    pit: z.string(),
    counts,
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
        food: z.string(),
        snake: z.nullable(z.string()),
        state: z.string(),
        note: z.string(),
      }),
    ),
    unproven: z.array(z.object({ food: z.string(), result: z.string() })),
    quarantined: z.array(z.object({ name: z.string(), from: z.string(), reason: z.string() })),
    same_number: z.array(z.object({ number: z.number(), foods: z.array(z.string()) })),
  }),
  async run(context) {
    const { store } = context;
    const oddities = (await pitOf(store)?.oddities()) ?? { unproven: [], quarantined: [] };
    return {
      pit: store.location,
      counts: await store.counts(),
      digesting: await digesting(context),
      stuck: await stuck(context),
      keeper: await forKeeper(store),
      results: await results(store),
      unproven: oddities.unproven.map(({ id, name }) => ({ food: id, result: `done/${name}` })),
      quarantined: oddities.quarantined,
      same_number: await sameNumbers(store),
    };
  },
});

async function digesting({ store, now }: RunContext) {
  const workers = new Map((await store.workers()).map((worker) => [worker.name, worker]));
  const found = [];
  for await (const { id, worker: snake = "?", since } of store.list({ states: ["claimed"] })) {
    const worker = workers.get(snake);
    const seconds = Math.max(0, Math.round((now() - Date.parse(since)) / 1000));
    found.push({
      food: id,
      task: await wordsOf(store, id),
      snake,
      seconds,
      quiet_seconds: Math.round(worker?.quiet ?? seconds),
      alive: worker?.alive ?? false,
    });
  }
  return found.sort((a, b) => b.seconds - a.seconds);
}

/** What does not move by itself, and what rests for long: with the first reason of `why`. */
async function stuck({ store, now }: RunContext) {
  const found = [];
  for await (const { id, state } of store.list({ states: ["failed", "review", "waiting"] })) {
    const { reasons } = await whyTask(store, id, now()).catch(() => ({ reasons: [] })); // moved on
    const [reason] = reasons;
    if (reason === undefined) continue;
    const { text, command } = reason;
    found.push({
      food: id,
      task: await wordsOf(store, id),
      state,
      why: text,
      ...(command ? { command } : {}),
    });
    if (found.length >= 100) break;
  }
  return found;
}

async function forKeeper(store: Store) {
  const found = [];
  for await (const { id } of store.list({ states: ["pending"], types: ["keeper"], limit: 100 })) {
    found.push({ food: id, task: await wordsOf(store, id) });
  }
  return found;
}

async function results(store: Store) {
  return ((await pitOf(store)?.handResults()) ?? []).map(({ id, snake, state, ready }) => ({
    food: id,
    snake,
    state,
    note: noteFor(state, ready),
  }));
}

function noteFor(state: string, ready: boolean): string {
  if (state === "unknown") return "nobody has ever seen its food, so nothing can prove it";
  if (ready) return "written by hand; the next sweep proves it";
  if (state === "failed")
    return "its food rests in resting/stuck/; viv retry lets the sweep prove it";
  return "written by hand; its food is not free yet";
}

async function sameNumbers(store: Store) {
  const byNumber = new Map<number, string[]>();
  for await (const { id } of store.list()) {
    const number = numberOf(id);
    if (number !== null) byNumber.set(number, [...(byNumber.get(number) ?? []), id]);
  }
  return [...byNumber]
    .filter(([, foods]) => foods.length > 1)
    .map(([number, foods]) => ({ number, foods: foods.sort() }));
}

/** A name that no food of ours could have says nothing: doctor tells of it. */
async function wordsOf(store: Store, id: string): Promise<string> {
  const view = isName(id) ? await store.show(id) : null;
  const words = view?.task?.payload.task;
  return typeof words === "string" ? words : "";
}
