import * as z from "zod/mini";
import type { Config } from "../../base/section.ts";
import { engineFor, routedEnginesSection } from "../../engines/config-engine.ts";
import { type Context, definePort } from "../../operation/operation.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { pause } from "../../queue/schemas.ts";
import type { WorkerView } from "../../queue/store.ts";
import { holdsIn, withoutTasks } from "../../work/remark.ts";
import type { Entry } from "./entry.ts";
import { runIndexPort } from "./index-port.ts";
import type { RunIndex } from "./run-index.ts";

/** The answers of other rooms' operations; null: there is no such thing here. */
export interface FleetPort {
  /** Of `crew ps`. */
  crew(context: Context): Promise<object | null>;
  /** Of `gate`. */
  gate(context: Context): Promise<object | null>;
  /** Of `ps`: the parts of `viv up`. */
  parts(context: Context): Promise<object | null>;
  /** Of `schedule ls`. */
  schedules(context: Context): Promise<object | null>;
}

export const fleetFactsPort = definePort<FleetPort>("fleet facts");

const text = z.nullable(z.string());
const anything = z.nullable(z.record(z.string(), z.unknown()));

const worker = z.object({
  name: z.string(),
  process: z.string(),
  alive: z.boolean(),
  /** Null: any. */
  types: z.nullable(z.array(z.string())),
  /** Of its routes: `claude · opus`; null: none, or several. */
  engine: text,
  account: text,
  doing: z.nullable(
    z.object({
      task: z.string(),
      title: z.string(),
      attempt: z.number(),
      since: z.string(),
      step: text,
      thought: text,
      /** Other tasks that it holds. */
      more: z.number(),
    }),
  ),
  /** How its last attempts ended, oldest first. */
  recent: z.array(z.string()),
  done: z.number(),
  heartbeat_age: z.nullable(z.number()),
  /** It claims nothing; see: pause --worker. */
  paused: z.nullable(pause),
  /**
   * Why it claims nothing, or not all that it takes: an account, a budget, the gate, a paused run (of a part
   * of viv up), a route. Null: nothing is held back.
   */
  held: text,
  quiet: z.nullable(z.number()),
  usd_today: z.number(),
  note: z.string(),
});

export const fleet = defineRunOperation({
  name: "fleet",
  summary: "workers and what each does, the crew, the gate, the parts of viv up, schedules",
  access: "read",
  input: z.strictObject({}),
  output: z.object({
    workers: z.array(worker),
    crew: anything,
    gate: anything,
    parts: anything,
    schedules: anything,
  }),
  async run(context) {
    const index = await context.use(runIndexPort);
    await index.settled();
    const port = await context.use(fleetFactsPort);
    const day = new Date(context.now()).toISOString().slice(0, 10);
    const views = await context.store.workers();
    const held = views.flatMap(({ claims }) =>
      claims.flatMap((id) => index.table.entries.get(id) ?? []),
    );
    await index.readNow(held.filter(({ column }) => column !== null));
    const plain = (value: object | null) => value as Record<string, unknown> | null;
    const parts = await port.parts(context);
    const holds = holdsOf(parts);
    return {
      workers: views.map((view) => ({
        ...workerOf(view, index, day, context.here.config),
        held: view.alive ? (holds.get(view.name) ?? holdsIn(view.note)) : null,
      })),
      crew: plain(await port.crew(context)),
      gate: plain(await port.gate(context)),
      parts: plain(parts),
      schedules: plain(await port.schedules(context)),
    };
  },
});

const ofParts = z.object({
  parts: z.array(
    z.object({ name: z.string(), kind: z.string(), state: z.string(), note: z.string() }),
  ),
});

/** What the workers of viv up hold back, as they have told it there. */
function holdsOf(parts: object | null): Map<string, string> {
  const found = ofParts.safeParse(parts).data?.parts ?? [];
  const paused = found.filter(({ kind, state }) => kind === "worker" && state === "paused");
  return new Map(paused.map(({ name, note }) => [name, note]));
}

function workerOf(view: WorkerView, index: RunIndex, day: string, config: Config | undefined) {
  const { name, process, alive, types, claims, heartbeatAge, quiet, paused } = view;
  const facts = index.facts.workers.get(name);
  const [first] = claims
    .flatMap((id) => index.table.entries.get(id) ?? [])
    .sort((a, b) => b.since - a.since);
  const isTask = (word: string) => index.table.find(word) !== undefined;
  return {
    ...{ name, process, alive, types, ...enginesOf(types, config) },
    doing: first === undefined ? null : doingOf(first, index, claims.length - 1),
    recent: facts?.recent ?? [],
    done: facts?.done ?? 0,
    ...{ heartbeat_age: heartbeatAge, quiet },
    usd_today: facts?.day === day ? facts.usd : 0,
    note: claims.length > 0 ? view.note : withoutTasks(view.note, isTask),
    paused,
  };
}

function doingOf(entry: Entry, { facts }: RunIndex, more: number) {
  const { id: task, title, attempt } = entry;
  const { step = null, thought = null } = facts.doing.get(task) ?? {};
  const since = new Date(entry.since).toISOString();
  return { task, title, attempt: Math.max(1, attempt), since, step, thought, more };
}

/** By the routes of its types in viv.toml, where those agree. */
function enginesOf(types: readonly string[] | null, config: Config | undefined) {
  const none = { engine: null, account: null };
  if (config === undefined) return none;
  const routes = types
    ? types.map((type) => engineFor(config, type))
    : [...config.section(routedEnginesSection).values()].map(({ engine }) => engine);
  const words = new Set(
    routes.map((one) => (one ? [one.name, one.model].filter(Boolean).join(" · ") : null)),
  );
  const accounts = new Set(routes.map((one) => one?.account ?? null));
  const [engine = null] = words.size === 1 ? words : [];
  const [account = null] = accounts.size === 1 ? accounts : [];
  return { engine, account };
}
