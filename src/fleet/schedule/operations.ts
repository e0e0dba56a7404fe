import { join } from "node:path";
import * as z from "zod/mini";
import { isVivError, VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";
import { by } from "../../operation/fields.ts";
import { type Context, defineOperation, definePort } from "../../operation/operation.ts";
import { defineRunOperation, type RunContext, storePort } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";
import { type Schedule, scheduleSection } from "./config.ts";
import { firesOf, loadCron } from "./cron.ts";
import { runId, tasksOf } from "./fire-tasks.ts";
import { each, textFor } from "./schedule-clock.ts";
import { type ScheduleFiles, scheduleFilesIn } from "./schedule-files.ts";

/** What schedules need of the machine and of other rooms. */
export interface SchedulePort {
  /** Where a run keeps what people have decided. */
  folderOf(store: Store): string;
  /** Throws INVALID. */
  readText(path: string): string;
  isUp(store: Store): boolean;
}

export const schedulePort = definePort<SchedulePort>("schedule");

const NEXT = 3;
const name = z.string().check(z.describe("name of a schedule"));
const nullable = z.nullable(z.string());

const shown = z.object({
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  /** The type of its task, or the path of its file. */
  tasks: z.string(),
  state: z.enum(["on", "paused", "disabled"]),
  missed: z.enum(["once", "skip"]),
  overlap: z.boolean(),
  next: z.array(z.string()),
  last: z.nullable(z.object({ fire: z.string(), tasks: z.number() })),
  paused_by: nullable,
  note: z.string(),
});

const lsOutput = z.object({ running: z.boolean(), schedules: z.array(shown) });
export type ScheduleList = z.output<typeof lsOutput>;

/** Before viv up has made the run, too. */
export const scheduleLs = defineOperation({
  name: "schedule ls",
  summary: "the schedules of viv.toml: next fires, last fire, state",
  access: "create",
  changes: () => false,
  input: z.strictObject({}),
  output: lsOutput,
  async run(context): Promise<ScheduleList> {
    await loadCron();
    const store = await context.use(storePort).catch((error: unknown) => {
      if (isVivError(error, "UNSUPPORTED")) return null; // there is no run here
      throw error;
    });
    const states = store && (await filesFor({ ...context, store })).read();
    const schedules = schedulesIn(context).map((one) => {
      const { last, paused, note = "" } = states?.get(one.name) ?? {};
      const { cron, timezone, missed, overlap, tasks } = one;
      return {
        ...{ name: one.name, cron, timezone, missed, overlap, note },
        tasks: tasks.kind === "task" ? tasks.type : tasks.path,
        state: stateOf(one, paused !== undefined),
        next: one.enabled && paused === undefined ? nextOf(one, context.now()) : [],
        last: last === undefined ? null : { fire: last.fire, tasks: last.ids.length },
        paused_by: paused?.by ?? null,
      };
    });
    const running = store !== null && (await context.use(schedulePort)).isUp(store);
    return { running, schedules };
  },
});

function stateOf({ enabled }: Schedule, isPaused: boolean): "on" | "paused" | "disabled" {
  return enabled ? (isPaused ? "paused" : "on") : "disabled";
}

function nextOf({ cron, timezone }: Schedule, now: number): string[] {
  const fires = firesOf(cron, timezone);
  const times: string[] = [];
  for (let at = fires.after(now); at !== null && times.length < NEXT; at = fires.after(at)) {
    times.push(new Date(at).toISOString());
  }
  return times;
}

export const scheduleRun = defineRunOperation({
  name: "schedule run",
  summary: "fire a schedule now; its own times do not change",
  access: "write",
  input: z.strictObject({ name }),
  output: z.object({ name: z.string(), tasks: z.array(z.string()) }),
  async run(context, given) {
    const schedule = scheduleNamed(context, given.name);
    const { readText } = await context.use(schedulePort);
    const folder = context.here.config?.folder ?? context.here.cwd;
    const specs = tasksOf(
      schedule,
      runId(schedule, context.now()),
      textFor(schedule, { folder, readText }),
    );
    await context.store.enqueueMany(each(specs));
    return { name: schedule.name, tasks: specs.flatMap(({ id }) => id ?? []) };
  },
});

const decided = z.object({ name: z.string(), state: z.enum(["on", "paused", "disabled"]) });

export const schedulePause = defineRunOperation({
  name: "schedule pause",
  summary: "let a schedule fire no more, until it is resumed",
  access: "write",
  input: z.strictObject({ name, by }),
  output: decided,
  async run(context, { name: given, by: who }) {
    const schedule = scheduleNamed(context, given);
    const at = new Date(context.now()).toISOString();
    const paused = { by: who || "someone", at };
    await (await filesFor(context)).update(schedule.name, (state) =>
      state?.paused ? null : { handled: at, ...state, paused },
    );
    return { name: schedule.name, state: stateOf(schedule, true) };
  },
});

export const scheduleResume = defineRunOperation({
  name: "schedule resume",
  summary: "let a paused schedule fire again; what it missed is skipped",
  access: "write",
  input: z.strictObject({ name }),
  output: decided,
  async run(context, { name: given }) {
    const schedule = scheduleNamed(context, given);
    const at = new Date(context.now()).toISOString();
    await (await filesFor(context)).update(schedule.name, (state) => {
      if (state?.paused === undefined) return null;
      const { paused: _, ...rest } = state;
      return { ...rest, handled: at };
    });
    return { name: schedule.name, state: stateOf(schedule, false) };
  },
});

async function filesFor(context: RunContext): Promise<ScheduleFiles> {
  const { folderOf } = await context.use(schedulePort);
  return scheduleFilesIn(context.store.folder, folderOf(context.store));
}

function schedulesIn({ here }: Context): Schedule[] {
  return here.config?.section(scheduleSection) ?? [];
}

function scheduleNamed(context: RunContext, given: string): Schedule {
  const all = schedulesIn(context);
  const found = all.find((one) => one.name === given);
  if (found !== undefined) return found;
  const meant = suggest(
    given,
    all.map((one) => one.name),
  );
  const file = context.here.config?.file ?? "viv.toml";
  const hint = meant
    ? `did you mean ${meant}?`
    : `see: viv schedule ls, and [[schedule]] in ${file}`;
  throw new VivError("TARGET_NOT_FOUND", `there is no schedule ${JSON.stringify(given)}; ${hint}`);
}

/** The folder of a run's schedules, beside its other decisions. */
export function scheduleFolder(run: string, isPit: boolean): string {
  return isPit ? join(run, "record") : run;
}
