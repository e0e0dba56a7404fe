import { unlessRefused } from "../../base/errors.ts";
import type { Config } from "../../base/section.ts";
import { fleetSection } from "../../fleet/config.ts";
import { type Schedule, scheduleSection } from "../../fleet/schedule/config.ts";
import { fireId, tasksOf } from "../../fleet/schedule/fire-tasks.ts";
import { textFor } from "../../fleet/schedule/schedule-clock.ts";
import { serverSection } from "../../server/config.ts";
import { noRoute } from "../../work/config-route.ts";
import type { RouteHost } from "../../work/host.ts";

/** A problem of what stands at that path of viv.toml. */
export interface PartProblem {
  path: string;
  message: string;
}

/** What keeps parts of `viv up` from their work: they would be parked, or fail each time. */
export async function partProblems(config: Config, host: RouteHost): Promise<PartProblem[]> {
  const schedules = config.section(scheduleSection);
  const ofSchedules = schedules.map((one, i) =>
    scheduleProblems(one, `schedule.${i}`, config, host),
  );
  return [
    ...workerProblems(config),
    ...(await Promise.all(ofSchedules)).flat(),
    ...(await tlsProblems(config)),
  ];
}

function workerProblems(config: Config): PartProblem[] {
  return (config.section(fleetSection).workers ?? []).flatMap(({ name, types = [] }) => {
    const table = name === "worker" ? "workers" : `workers.${name}`;
    return types.flatMap((type) => unrouted(config, `${table}.types`, `[${table}]`, type));
  });
}

async function scheduleProblems(
  schedule: Schedule,
  table: string,
  config: Config,
  host: RouteHost,
): Promise<PartProblem[]> {
  const { name, tasks, enabled } = schedule;
  if (!enabled) return [];
  const title = `[[schedule]] ${name}`;
  const path = `${table}.${tasks.kind === "task" ? "type" : "jsonl"}`;
  let problem = "";
  const specs = await unlessRefused(
    async () => tasksOf(schedule, fireId(schedule, 0), textFor(schedule, { ...config, ...host })),
    (message) => {
      problem = message;
    },
  );
  if (specs === null) return [{ path, message: `${title} cannot fire: ${problem}` }];
  const types = new Set(specs.map(({ type }) => type));
  return [...types].flatMap((type) => unrouted(config, path, title, type));
}

function unrouted(config: Config, path: string, title: string, type: string): PartProblem[] {
  const why = noRoute(config, type);
  return why === null ? [] : [{ path, message: `${title}: ${why}` }];
}

async function tlsProblems(config: Config): Promise<PartProblem[]> {
  const { tls } = config.section(serverSection);
  if (tls === undefined) return [];
  const { tlsFiles } = await import("../../server/tls-files.ts");
  const found: PartProblem[] = [];
  await unlessRefused(
    async () => tlsFiles(tls, config.folder),
    (message) => found.push({ path: "server.tls_cert", message }),
  );
  return found;
}
