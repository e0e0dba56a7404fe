import type { CrewLine, MemberStatus } from "./status.ts";

/** `GET /_activity`: the same keys for pages that know crews, and for those that do not. */
export interface ActivityStep {
  tool: string;
  target: string;
  ts: number;
  agent: string;
}

export interface ActivityAgent {
  name: string;
  running: boolean;
  lifecycle: string | null;
  steps: ActivityStep[];
  thought: string | null;
}

export interface CrewActivity {
  agents: ActivityAgent[];
  wire: ActivityStep[];
  agent: ActivityAgent | null;
}

export interface KeeperActivity {
  agent: Pick<ActivityAgent, "name" | "running" | "lifecycle">;
  steps: ActivityStep[];
  thought: string | null;
}

/** Steps that are read; shown of each agent; shown of all. */
export const LOOKED_AT = 60;
const OF_EACH = 5;
const ON_THE_WIRE = 10;

export function crewActivity(
  statuses: readonly MemberStatus[],
  lines: readonly CrewLine[],
): CrewActivity {
  const steps = stepsIn(lines);
  const agents = statuses.map((status) => ({
    name: status.name,
    running: status.state === "running",
    lifecycle: status.lifecycle,
    steps: steps.filter(({ agent }) => agent === status.name).slice(-OF_EACH),
    thought: thoughtOf(status, lines),
  }));
  const latest = steps.at(-1)?.agent;
  const agent =
    agents.find(({ running }) => running) ??
    agents.find(({ name }) => name === latest) ??
    agents[0] ??
    null;
  return { agents, wire: steps.slice(-ON_THE_WIRE), agent };
}

export function keeperActivity(status: MemberStatus, lines: readonly CrewLine[]): KeeperActivity {
  const { name, state, lifecycle } = status;
  return {
    agent: { name, running: state === "running", lifecycle },
    steps: stepsIn(lines).slice(-OF_EACH),
    thought: thoughtOf(status, lines),
  };
}

function stepsIn(lines: readonly CrewLine[]): ActivityStep[] {
  return lines
    .flatMap((line) => ("tool" in line ? [line] : []))
    .slice(-LOOKED_AT)
    .map(({ tool, target, ts, agent }) => ({ tool, target, ts, agent }));
}

function thoughtOf({ name, thought }: MemberStatus, lines: readonly CrewLine[]): string | null {
  if (thought !== null) return thought;
  const last = lines.findLast((line) => "thought" in line && line.agent === name);
  return last !== undefined && "thought" in last ? last.thought : null;
}
