import type { WorkerGroup } from "./config.ts";

/**
 * The parts of a fleet. A reaper, schedules and notifications are clocks of the supervisor; all
 * others are processes.
 */
export type PartKind =
  | "worker"
  | "merge"
  | "crew"
  | "warden"
  | "agents"
  | "server"
  | "reaper"
  | "schedules"
  | "notifications";

export interface PartSpec {
  name: string;
  kind: PartKind;
  /** The arguments of `viv`; null: a clock of the supervisor. */
  args: readonly string[] | null;
  /** Where its port is taken by another program, any free one is as good. */
  isPortFree?: true;
  /** It is started again when this changes, or its arguments. */
  settings: string;
}

/** What viv.toml and its surroundings declare. A text is the declaration; null: there is none. */
export interface FleetFacts {
  run: string;
  hasRoutes: boolean;
  workers: readonly WorkerGroup[] | null;
  /** `auto` in [merge]. */
  merges: boolean;
  crew: string | null;
  warden: string | null;
  /** The path of an agents.toml. */
  agents: string | null;
  server: string | null;
  /** viv.toml names a port for it. */
  hasPort: boolean;
  schedules: string | null;
  notifications: string | null;
}

/** Without `[workers]`. */
const DEFAULT_WORKERS: WorkerGroup = { name: "worker", count: 2, concurrency: 1 };

/** Every part that is to run. `isUseless`: a part of that name is there, and will do nothing any more. */
export function partsOf(
  facts: FleetFacts,
  isUseless: (name: string) => boolean = () => false,
): PartSpec[] {
  const { run, crew, warden, agents, server, schedules, notifications } = facts;
  const on = `--run=${run}`;
  const workers = groupsOf(facts).flatMap((group) => workersOf(group, on));
  const isManned = workers.some(({ name }) => !isUseless(name));
  const program = (kind: PartKind, settings: string, ...args: string[]): PartSpec => ({
    ...{ name: kind, kind, settings },
    args: [...args, "--until-stdin-closes", "--json"],
  });
  const clock = (kind: PartKind, settings: string): PartSpec => ({
    ...{ name: kind, kind, settings, args: null },
  });
  return [
    clock("reaper", ""),
    ...(notifications === null ? [] : [clock("notifications", notifications)]),
    ...(schedules === null ? [] : [clock("schedules", schedules)]),
    ...(server === null ? [] : [serverOf(program("server", server, "serve", on), facts.hasPort)]),
    ...(warden === null ? [] : [program("warden", warden, "warden", "up")]),
    ...workers,
    ...(facts.merges && !isManned ? [program("merge", "", "merge", on, "--auto")] : []),
    ...(agents === null
      ? []
      : [program("agents", agents, "up", `--config=${agents}`, "--no-warden")]),
    ...(crew === null ? [] : [program("crew", crew, "crew", "up")]),
  ];
}

function serverOf(spec: PartSpec, hasPort: boolean): PartSpec {
  return hasPort ? spec : { ...spec, isPortFree: true };
}

/** A pit has its agents.toml for that. */
function groupsOf({ workers, hasRoutes, agents }: FleetFacts): readonly WorkerGroup[] {
  if (!hasRoutes) return [];
  return workers ?? (agents === null ? [DEFAULT_WORKERS] : []);
}

function workersOf({ name, count, types, concurrency }: WorkerGroup, on: string): PartSpec[] {
  return Array.from({ length: count }, (_, i): PartSpec => {
    const own = `${name}-${i + 1}`;
    return {
      ...{ name: own, kind: "worker", settings: "" },
      args: [
        ...["work", on, `--worker-id=${own}`],
        ...(types === undefined ? [] : [`--types=${types.join(",")}`]),
        ...(concurrency === 1 ? [] : [`--concurrency=${concurrency}`]),
        ...["--until-stdin-closes", "--json"],
      ],
    };
  });
}

/** Whether a part that runs as `before` need not be started again. */
export function isSame(before: PartSpec, after: PartSpec): boolean {
  return before.settings === after.settings && sameArgs(before.args, after.args);
}

function sameArgs(a: PartSpec["args"], b: PartSpec["args"]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** These go on while the others finish: they guard and show them. */
const LAST: readonly PartKind[] = ["reaper", "warden", "notifications", "server"];

export function stopsLast(kind: PartKind): boolean {
  return LAST.includes(kind);
}
