import * as z from "zod/mini";
import { accountsInUse } from "../../engines/accounts/accounts.ts";
import { text } from "../../operation/fields.ts";
import { Slices } from "../../platform/slices.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { SINCE } from "../model-operations.ts";
import { readPeriod } from "../report/period.ts";
import type { CrewFacts } from "../report/report-port.ts";
import { runIndexPort } from "./index-port.ts";
import { Buckets, Lanes } from "./lanes.ts";
import type { Span } from "./spans.ts";

const nullable = z.nullable(z.string());
const span = z.object({
  task: z.string(),
  from: z.string(),
  to: nullable,
  outcome: nullable,
  attempt: z.number(),
  again: z.boolean(),
  count: z.number(),
});

const DEFAULT_PERIOD = "12h";

export const timeline = defineRunOperation({
  name: "timeline",
  summary: "attempts by worker and crew member, ends per time, kills, closed accounts",
  access: "read",
  input: z.strictObject({ since: text(`${SINCE} (default: ${DEFAULT_PERIOD})`) }),
  output: z.object({
    since: z.string(),
    until: z.string(),
    lanes: z.array(
      z.object({ name: z.string(), kind: z.enum(["worker", "crew"]), spans: z.array(span) }),
    ),
    buckets: z.array(
      z.object({
        at: z.string(),
        ...{ proven: z.number(), done: z.number(), failed: z.number(), other: z.number() },
      }),
    ),
    kills: z.array(
      z.object({ name: z.string(), at: z.string(), warrant: z.string(), why: z.string() }),
    ),
    /** `to` null: until a person opens it. */
    closed: z.array(z.object({ account: z.string(), from: z.string(), to: nullable })),
  }),
  async run(context, { since: wanted = DEFAULT_PERIOD }) {
    const { now, since, crew, warden } = await readPeriod(context, wanted);
    const index = await context.use(runIndexPort);
    await index.complete();
    await index.settled();
    const start = Date.parse(since);
    const lanes = new Lanes(start, now);
    const slices = new Slices();
    const ended: Span[] = [];
    // A run of a minute is divided into seconds, whatever the period.
    let first = now;
    for (const one of index.facts.spans.since(start, now)) {
      lanes.add(one);
      first = Math.min(first, one.from);
      if (one.to !== null && one.to >= start) ended.push(one);
      await slices.rest();
    }
    const buckets = new Buckets(Math.max(start, first), now);
    for (const one of ended) buckets.add(one);
    const workers = lanes.list().map((lane) => ({ ...lane, kind: "worker" as const }));
    return {
      since,
      until: new Date(now).toISOString(),
      lanes: [...workers, ...crewLanes(crew)],
      buckets: buckets.list(),
      kills: (warden?.kills ?? []).map(({ target, at, warrant, why }) => ({
        ...{ name: target, at, warrant, why },
      })),
      closed: index.facts.closings.since(start, (await accountsInUse(context)).all),
    };
  },
});

type CrewLane = { name: string; kind: "crew"; spans: z.output<typeof span>[] };

function crewLanes(facts: CrewFacts | null): CrewLane[] {
  const lanes = new Map<string, CrewLane>();
  for (const { name } of facts?.members ?? []) lanes.set(name, { name, kind: "crew", spans: [] });
  for (const { name, from, to, outcome } of facts?.runs ?? []) {
    const lane = lanes.get(name) ?? { name, kind: "crew" as const, spans: [] };
    lanes.set(name, lane);
    const time = (at: number) => new Date(at).toISOString();
    lane.spans.push({
      ...{ task: "", from: time(from), to: time(to), outcome, attempt: 1, again: false, count: 1 },
    });
  }
  return [...lanes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
