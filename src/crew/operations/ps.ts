import * as z from "zod/mini";
import type { ProcessIdentity } from "../../base/clock.ts";
import { text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { holderFrom, MEMBER_STATES, type MemberStatus, TICK_OUTCOMES } from "../status.ts";
import type { CrewPorts } from "./ports.ts";
import { crewSurroundings } from "./start.ts";
import { stateFolder } from "./state-folder.ts";

export const crewPs = defineOperation({
  name: "crew ps",
  summary: "the members of a crew: state, last run, next tick, streak, lifecycle, cost today",
  input: z.strictObject({
    state: text("the crew's state folder (default: the nearest .crew)"),
  }),
  output: z.object({
    state: z.string(),
    supervisor: z.object({
      running: z.boolean(),
      pid: z.nullable(z.number()),
      manifest: z.nullable(z.string()),
      port: z.nullable(z.number()),
    }),
    /** One tick of one member, by a `viv crew tick` without a crew. */
    tick: z.nullable(z.object({ name: z.string(), pid: z.number() })),
    members: z.array(
      z.object({
        name: z.string(),
        state: z.enum([...MEMBER_STATES, "not running"]),
        since: z.string(),
        outcome: z.nullable(z.enum(TICK_OUTCOMES)),
        note: z.string(),
        last_run: z.nullable(z.string()),
        next_tick: z.nullable(z.string()),
        streak: z.number(),
        lifecycle: z.nullable(z.string()),
        saved: z.number(),
        cost_today: z.number(),
        thought: z.nullable(z.string()),
        /** The warden's question to its run, while that is open. */
        asked: z.nullable(z.string()),
      }),
    ),
  }),
  async run(context, given) {
    const { here, ports } = await crewSurroundings(context);
    const state = stateFolder(given.state, here, ports);
    const files = ports.filesIn(state);
    const crew = files.readJson("crew") as CrewJson | null;
    const running = crew !== null && ports.machine.vitality(crew) === "alive";
    const singleton = crew?.singleton === true;
    const tick = running ? null : tickIn(files.holder(), ports);
    const names = singleton ? [""] : (crew?.members ?? files.names().filter((name) => name !== ""));
    const day = new Date(context.now()).toISOString().slice(0, 10);
    const members = names.flatMap((name) => {
      const status = files.status(name);
      const isUp = running || status?.name === tick?.name;
      if (status === null) return [];
      const asked = status.run === null ? null : files.question(status.name);
      return [{ ...memberOf(status, isUp, day), asked }];
    });
    return {
      state,
      supervisor: {
        running,
        pid: running ? crew.pid : null,
        manifest: crew?.manifest ?? null,
        port: running ? (crew?.port ?? null) : null,
      },
      tick,
      members,
    };
  },
});

function tickIn(value: unknown, ports: CrewPorts): { name: string; pid: number } | null {
  const holder = holderFrom(value);
  if (holder?.kind !== "tick" || holder.member === undefined) return null;
  return ports.machine.vitality(holder) === "alive"
    ? { name: holder.member, pid: holder.pid }
    : null;
}

interface CrewJson extends ProcessIdentity {
  manifest: string;
  members: string[];
  singleton?: boolean;
  port: number | null;
}

function memberOf(status: MemberStatus, isUp: boolean, day: string) {
  const { name, since, outcome, note, last_run, next_tick, streak, lifecycle, saved, thought } =
    status;
  return {
    ...{ name, since, outcome, note, last_run, streak, lifecycle, saved, thought },
    state: isUp
      ? status.state
      : status.state === "parked"
        ? status.state
        : ("not running" as const),
    next_tick: isUp ? next_tick : null,
    cost_today: status.day === day ? status.cost_today : 0,
  };
}
