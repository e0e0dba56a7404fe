import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { type Context, defineOperation } from "../../operation/operation.ts";
import { stateFlag, wardenNow, wardenPlace } from "./place.ts";
import {
  danceView,
  findWarrant,
  sortedDances,
  viewDance,
  viewWarrant,
  type WarrantPlace,
  warrantView,
} from "./views.ts";

const anything = z.record(z.string(), z.unknown());
const idInput = z.strictObject({
  id: z.string().check(z.describe("the warrant, or its dog")),
  state: stateFlag,
});

const listOutput = z.object({
  warrants: z.array(warrantView),
  dances: z.array(danceView),
  bad: z.array(z.object({ name: z.string(), why: z.string() })),
});
export type WarrantList = z.output<typeof listOutput>;

async function listWarrants(context: Context, state?: string): Promise<WarrantList> {
  const place = await wardenPlace(context, state);
  const { warrants, bad } = place.files.queued();
  const now = context.now();
  return {
    warrants: warrants.map((one) => viewWarrant(one, now)),
    dances: sortedDances(place).map((one) => viewDance(one, wardenNow(place), now)),
    bad: bad.map(({ name, why }) => ({ name, why })),
  };
}

export const warrantLs = defineOperation({
  name: "warrant ls",
  summary: "the open warrants: those that a dog has, and those that wait, the oldest first",
  input: z.strictObject({ state: stateFlag }),
  output: listOutput,
  run: (context, { state }) => listWarrants(context, state),
});

export const dogWarrants = defineOperation({
  name: "dog warrants",
  summary: "the queue: warrants that wait for a dog, the oldest first",
  input: z.strictObject({ state: stateFlag }),
  output: z.object({ warrants: listOutput.shape.warrants, bad: listOutput.shape.bad }),
  async run(context, { state }) {
    const { files } = await wardenPlace(context, state);
    const { warrants, bad } = files.queued();
    const now = context.now();
    return {
      warrants: warrants.map((one) => viewWarrant(one, now)),
      bad: bad.map(({ name, why }) => ({ name, why })),
    };
  },
});

const showOutput = z.object({
  id: z.string(),
  state: z.enum(["queued", "dancing", "over", "withdrawn"]),
  warrant: anything,
  dance: z.optional(anything),
  receipt: z.optional(anything),
});

export const warrantShow = defineOperation({
  name: "warrant show",
  summary: "everything about one warrant: its target, its dance, its receipt",
  input: idInput,
  output: showOutput,
  async run(context, { id, state }) {
    const found = findWarrant(await wardenPlace(context, state), id);
    return {
      ...{ id: found.warrant.id, state: found.state, warrant: { ...found.warrant } },
      ...(found.state === "dancing" ? { dance: { ...found.dance } } : {}),
      ...(found.state === "over" ? { receipt: { ...found.receipt } } : {}),
    };
  },
});

export const warrantWithdraw = defineOperation({
  name: "warrant withdraw",
  summary: "take a warrant back; a dance that has begun ends with a pardon",
  input: idInput,
  output: z.object({
    id: z.string(),
    target: z.string(),
    /** False: the warden was asked to end the dance. */
    withdrawn: z.boolean(),
    notes: z.array(z.string()),
  }),
  async run(context, { id: given, state }) {
    const place = await wardenPlace(context, state);
    const { files } = place;
    let found = findWarrant(place, given);
    const { id, target } = found.warrant;
    if (found.state === "queued") {
      if (await files.withdrawQueued(id)) return { id, target, withdrawn: true, notes: [] };
      found = findWarrant(place, given); // a dog has just taken it
    }
    if (found.state === "dancing" && (await files.askToWithdraw(id))) {
      const note = "no warden is up here; the dance ends when one is: viv warden up";
      return { id, target, withdrawn: false, notes: wardenNow(place).up ? [] : [note] };
    }
    if (found.state === "dancing") found = findWarrant(place, given);
    if (found.state === "withdrawn") return { id, target, withdrawn: true, notes: [] };
    throw new VivError("WRONG_STATE", `${id} can no longer be withdrawn: ${whyNot(found)}.`, {
      id,
      state: found.state,
    });
  },
});

function whyNot(found: WarrantPlace): string {
  if (found.state === "over") return `its verdict is ${found.receipt.verdict}`;
  return found.state === "dancing" ? `${found.dance.id} is ${found.dance.state}` : found.state;
}

export const epitaph = defineOperation({
  name: "epitaph",
  summary: "how a warrant ended, for people: the verdict, the attempts, the screen, the processes",
  input: idInput,
  output: z.object({ text: z.string(), receipt: anything }),
  async run(context, { id, state }) {
    const place = await wardenPlace(context, state);
    const found = findWarrant(place, id);
    if (found.state !== "over") {
      const what =
        found.state === "dancing" ? `${found.dance.id} is at it` : `it is ${found.state}`;
      const message = `${found.warrant.id} has no epitaph: ${what}; see: viv warrant show ${found.warrant.id}`;
      throw new VivError("WRONG_STATE", message, { id, state: found.state });
    }
    const text =
      place.files.epitaph(found.warrant.id) ?? `${JSON.stringify(found.receipt, null, 2)}\n`;
    return { text, receipt: { ...found.receipt } };
  },
});
