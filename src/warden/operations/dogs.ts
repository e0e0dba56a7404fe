import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { flag } from "../../operation/fields.ts";
import { type Context, defineOperation } from "../../operation/operation.ts";
import { isUndecided } from "../dance.ts";
import { newDance } from "../warden.ts";
import {
  danceView,
  danceViews,
  didYouMean,
  findWarrant,
  noWardenNotes,
  stateFlag,
  wardenNow,
  wardenPlace,
  wardenShape,
} from "./warden-place.ts";

const only = z.strictObject({ state: stateFlag });

const statusOutput = z.object({
  ...wardenShape,
  state: z.string(),
  active: z.number(),
  /** Dogs that have no warrant. */
  idle: z.number(),
  waiting: z.number(),
  dogs: z.array(danceView),
});
export type PoolStatus = z.output<typeof statusOutput>;

async function statusOf(context: Context, state: string | undefined): Promise<PoolStatus> {
  const place = await wardenPlace(context, state);
  const warden = wardenNow(place);
  const dogs = danceViews(place, context.now());
  const waiting = place.files.queued().warrants.length;
  const idle = Math.max(0, warden.pool - dogs.length);
  return { ...warden, state: place.files.folder, active: dogs.length, idle, waiting, dogs };
}

export const poolStatus = defineOperation({
  name: "dog pool status",
  summary: "the dogs of the pool: target, state, attempt, seconds left",
  input: only,
  changes: () => false,
  output: statusOutput,
  run: (context, { state }) => statusOf(context, state),
});

export const dogStatus = defineOperation({
  name: "dog status",
  summary: "the dogs of the pool, for scripts that poll: a line for each",
  input: z.strictObject({ active: flag("only those that have a warrant"), state: stateFlag }),
  changes: () => false,
  output: statusOutput,
  async run(context, { active, state }) {
    const status = await statusOf(context, state);
    return active === true ? { ...status, idle: 0 } : status;
  },
});

export const dogDances = defineOperation({
  name: "dog dances",
  summary: "the running dances",
  input: only,
  changes: () => false,
  output: z.object({ dances: z.array(danceView), paused: wardenShape.paused, state: z.string() }),
  async run(context, given) {
    const { dogs, paused, state } = await statusOf(context, given.state);
    return { dances: dogs, paused, state };
  },
});

const assigned = z.object({
  dog: z.string(),
  warrant: z.string(),
  target: z.string(),
  notes: z.array(z.string()),
});

const UNTIL_THEN = "it goes on when one is";

export const poolAllocate = defineOperation({
  name: "dog pool allocate",
  summary: "assign a queued warrant to a dog now, ahead of the queue (for debugging)",
  input: z.strictObject({
    warrant: z.string().check(z.describe("id of the warrant")),
    state: stateFlag,
  }),
  output: assigned,
  async run(context, { warrant, state }) {
    const place = await wardenPlace(context, state);
    const { files } = place;
    const found = findWarrant(place, warrant);
    const { id, target } = found.warrant;
    const refuse = (why: string) => new VivError("WRONG_STATE", `${id}: ${why}.`, { id });
    if (found.state === "dancing") throw refuse(`${found.dance.id} has it already`);
    if (found.state !== "queued") throw refuse(`it does not wait, it is ${found.state}`);
    const { pool, paused } = wardenNow(place);
    if (paused)
      throw refuse(`the pool is paused (${paused.why}); viv warden resume${place.stateWords}`);
    const active = files.dances().length;
    if (active >= pool) {
      const see = `viv dog pool status${place.stateWords}`;
      throw refuse(`pool exhausted, no free dog (pool of ${pool}); see: ${see}`);
    }
    const now = context.now();
    const dance = newDance(files.newDog(now), found.warrant, now);
    if (!(await files.begin(dance))) throw refuse("it does not wait any more");
    return { dog: dance.id, warrant: id, target, notes: noWardenNotes(place, UNTIL_THEN) };
  },
});

export const poolRelease = defineOperation({
  name: "dog pool release",
  summary: "end a dance without a verdict and requeue its warrant (for debugging)",
  input: z.strictObject({ dog: z.string().check(z.describe("the dog")), state: stateFlag }),
  output: assigned,
  async run(context, { dog, state }) {
    const place = await wardenPlace(context, state);
    const dances = place.files.dances();
    const dance = dances.find(({ id }) => id === dog);
    if (dance === undefined) {
      const known = dances.map(({ id }) => id);
      const hint = didYouMean(dog, known, `viv dog pool status${place.stateWords}`);
      const message = `no dog ${JSON.stringify(dog.slice(0, 128))} is in a dance; ${hint}`;
      throw new VivError("WARRANT_NOT_FOUND", message, { dog });
    }
    if (!isUndecided(dance)) {
      const message = `${dog} is ${dance.state}, and can no longer be released.`;
      throw new VivError("WRONG_STATE", message, { dog, state: dance.state });
    }
    place.files.askToRelease(dog);
    const { id, target } = dance.warrant;
    return { dog, warrant: id, target, notes: noWardenNotes(place, UNTIL_THEN) };
  },
});
