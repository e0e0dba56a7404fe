import { resolve } from "node:path";
import * as z from "zod/mini";
import type { Machine } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import { PRIORITIES, type Priority } from "../base/priority.ts";
import { text } from "../operation/fields.ts";
import { type Context, defineOperation, definePort } from "../operation/operation.ts";
import type { MachineGate } from "./machine-gate.ts";
import type { CrewGateFiles } from "./ticket-files.ts";

/** The gates there are on this machine. */
export interface GatePort {
  machine: MachineGate;
  /** What a crew with this state folder says of its gate. */
  crewIn(state: string): CrewGateFiles;
  host: Machine;
}

export const gatePort = definePort<GatePort>("gate");

const holder = z.object({ name: z.string(), since: z.string(), pid: z.optional(z.number()) });
const waiter = z.object({
  name: z.string(),
  priority: z.enum(PRIORITIES),
  since: z.string(),
  waiting_ms: z.number(),
  pid: z.optional(z.number()),
});
const view = {
  max: z.nullable(z.number()),
  holders: z.array(holder),
  queue: z.array(waiter),
};
const crewView = z.object({
  state: z.string(),
  ...view,
  /** When it said so. */
  at: z.nullable(z.string()),
  /** Does it run? Null: it does not say who it is. */
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
    state: text("the gate of the crew with this state folder (default for reading: ./.crew)"),
  }),
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

/** Written by a crew, which may be of another version: what it does not say is not shown. */
function readCrew(
  text: string,
  state: string,
  host: Machine,
  now: number,
): z.output<typeof crewView> {
  const file = asObject(text, state);
  const at = timeOf(file.at);
  const alive = isAlive(file, host);
  // What one that was killed said last: nobody is in, and nobody waits.
  if (alive === false) Object.assign(file, { holders: [], queue: [] });
  return {
    state,
    max: typeof file.max === "number" ? file.max : null,
    holders: listOf(file.holders).map((one) => ({
      name: nameOf(one),
      since: timeOf(one.since) ?? "",
    })),
    queue: listOf(file.queue).map((one) => {
      const since = timeOf(one.since);
      return {
        name: nameOf(one),
        priority: PRIORITIES.find((known) => known === one.priority) ?? ("normal" as Priority),
        since: since ?? "",
        waiting_ms: since === null ? 0 : Math.max(0, now - Date.parse(since)),
      };
    }),
    at,
    alive,
  };
}

function isAlive(file: Record<string, unknown>, machine: Machine): boolean | null {
  const { host, boot, pid } = file;
  const started = file.started ?? file.mark;
  if (typeof host !== "string" || typeof boot !== "string") return null;
  if (typeof pid !== "number" || typeof started !== "string") return null;
  const vitality = machine.vitality({ host, boot, pid, started });
  return vitality === "unknown" ? null : vitality === "alive";
}

function asObject(text: string, state: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new VivError(
    "CORRUPT",
    `${state}/gate.json is not a JSON object; the crew will write it anew.`,
  );
}

function listOf(value: unknown): Record<string, unknown>[] {
  const all = Array.isArray(value) ? value : [];
  return all.filter((one) => typeof one === "object" && one !== null);
}

function nameOf({ name }: Record<string, unknown>): string {
  return typeof name === "string" ? name : "?";
}

/** ISO, whether it says so or gives milliseconds. */
function timeOf(value: unknown): string | null {
  const ms = typeof value === "number" ? value : Date.parse(typeof value === "string" ? value : "");
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null;
}
