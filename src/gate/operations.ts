import { resolve } from "node:path";
import * as z from "zod/mini";
import type { Machine } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import { suggest } from "../base/names.ts";
import { PRIORITIES } from "../base/priority.ts";
import { text } from "../operation/fields.ts";
import { type Context, defineOperation, definePort } from "../operation/operation.ts";
import type { MachineGate } from "./machine-gate.ts";
import type { CrewGateFiles } from "./ticket-files.ts";

/** The gates on this machine. */
export interface GatePort {
  machine: MachineGate;
  /** The gate of the crew with this state folder. */
  crewIn(state: string): CrewGateFiles;
  host: Machine;
}

export const gatePort = definePort<GatePort>("gate");

const holder = z.object({ name: z.string(), since: z.string(), pid: z.optional(z.number()) });
const waiter = z.extend(holder, { priority: z.enum(PRIORITIES), waiting_ms: z.number() });
const view = { max: z.nullable(z.number()), holders: z.array(holder), queue: z.array(waiter) };
const crewView = z.object({
  state: z.string(),
  ...view,
  /** The time of the file. */
  at: z.nullable(z.string()),
  /** Does it run? Null: unknown. */
  alive: z.nullable(z.boolean()),
});

const output = z.object({
  machine: z.object({ ...view, trouble: z.optional(z.string()) }),
  crew: z.optional(crewView),
  /** The crew was asked to change its maximum. */
  asked: z.optional(z.object({ max: z.number(), path: z.string() })),
});

export type GateOutput = z.output<typeof output>;

export const gate = defineOperation({
  name: "gate",
  summary: "slots for engines: maximum, holders, queue and waiting times",
  input: z.strictObject({
    max: text("new maximum of slots; none: no limit"),
    state: text("state folder (of a crew, for its gate; default for reading: ./.crew)"),
  }),
  changes: ({ max }) => max !== undefined,
  output,
  async run(context, given) {
    const port = await context.use(gatePort);
    const max = given.max === undefined ? undefined : parseMax(given.max);
    const crew = crewFor(context, port, given.state);
    if (max === undefined || given.state === undefined || crew === undefined) {
      if (max !== undefined) await port.machine.setMax(max);
      return { machine: port.machine.view(), crew: crew?.view };
    }
    if (max === null) {
      throw new VivError("USAGE", "a crew always has a maximum; give it a high one: --max 1000");
    }
    if (crew.view.alive === false) {
      const todo = `start it with --max-concurrent ${max}`;
      throw new VivError("WRONG_STATE", `the crew of ${crew.view.state} does not run; ${todo}.`);
    }
    const path = crew.files.ask(max);
    return { machine: port.machine.view(), crew: crew.view, asked: { max, path } };
  },
});

/** More than any machine runs at a time. */
const HIGHEST = 10_000;

function parseMax(given: string): number | null {
  const word = given.trim();
  if (word === "none") return null;
  const max = /^\d+$/.test(word) ? Number(word) : Number.NaN;
  if (max >= 1 && max <= HIGHEST) return max;
  const isNone = suggest(word, ["none"]) ?? /^(no|off|unlimited|all|null|0)$/i.test(word);
  const hint = isNone ? "for no limit: --max none" : `a whole number from 1 to ${HIGHEST}, or none`;
  throw new VivError("USAGE", `--max ${JSON.stringify(given)} is no maximum; ${hint}.`);
}

function crewFor(context: Context, port: GatePort, given: string | undefined) {
  const state = resolve(context.here.cwd, given ?? ".crew");
  const files = port.crewIn(state);
  const text = files.read();
  if (text !== null) return { files, view: readCrew(text, state, port.host, context.now()) };
  if (given === undefined) return undefined;
  const what = files.isThere() ? "has no gate.json" : "is not there";
  const todo = "start the crew with: viv crew up MANIFEST";
  throw new VivError("INVALID", `the crew's state folder ${state} ${what}; ${todo}`);
}

/** ISO, from ISO or milliseconds; null for anything else. */
function timeOf(value: unknown): string | null {
  const ms = typeof value === "string" ? Date.parse(value) : value;
  const at = new Date(typeof ms === "number" ? ms : Number.NaN);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}
const time = z.pipe(z.optional(z.unknown()), z.transform(timeOf));
const entry = { name: z.catch(z.string(), "?"), since: time };
const listOf = <T extends z.ZodMiniType>(one: T) =>
  z.pipe(
    z.catch(z.array(z.unknown()), []),
    z.transform((all) => all.flatMap((each) => one.safeParse(each).data ?? [])),
  );

/** Written by a crew, which may be of another version: unknown values are not shown. */
const gateJson = z.object({
  max: z.catch(z.nullable(z.number()), null),
  holders: listOf(z.object(entry)),
  queue: listOf(z.object({ ...entry, priority: z.catch(z.enum(PRIORITIES), "normal") })),
  at: time,
});
const identity = z.object({
  host: z.string(),
  boot: z.string(),
  pid: z.number(),
  started: z.string(),
});

function readCrew(
  text: string,
  state: string,
  host: Machine,
  now: number,
): z.output<typeof crewView> {
  const file = parseRecord(text);
  if (file === null) {
    const message = `${state}/gate.json is not a JSON object; the crew will write it anew.`;
    throw new VivError("CORRUPT", message);
  }
  const { max, holders, queue, at } = gateJson.parse(file);
  // `mark`: the name of `started` in earlier versions.
  const crew = identity.safeParse({ started: file.mark, ...file });
  const vitality = crew.success ? host.vitality(crew.data) : "unknown";
  const alive = vitality === "unknown" ? null : vitality === "alive";
  // After a kill, the last state of the file is not the present one.
  if (alive === false) return { state, max, holders: [], queue: [], at, alive };
  return {
    state,
    max,
    holders: holders.map(({ name, since }) => ({ name, since: since ?? "" })),
    queue: queue.map(({ since, ...rest }) => ({
      ...rest,
      since: since ?? "",
      waiting_ms: since === null ? 0 : Math.max(0, now - Date.parse(since)),
    })),
    at,
    alive,
  };
}
