import type { Clock } from "../base/clock.ts";
import { isName } from "../base/names.ts";
import { type CrewFiles, crewFilesIn } from "../crew/crew-files.ts";
import type { CrewLine, MemberStatus } from "../crew/member-status.ts";
import { type UpFiles, upFilesIn } from "../fleet/up-files.ts";
import type { AgentDirectory, AgentEntry, AgentHome, AgentStep } from "../warden/directory.ts";

const FIRST_STEPS = 1000;

/** The agents of crews and fleets, as the warden sees them. */
export function wardenDirectory(clock: Clock): AgentDirectory {
  return {
    crew: (state) => crewAgents(crewFilesIn(state), clock),
    fleet: (pit) => fleetAgents(upFilesIn(pit), pit),
  };
}

function crewAgents(files: CrewFiles, clock: Clock): AgentHome {
  const entry = (key: string, status: MemberStatus): AgentEntry => {
    const { name, state, since, run, cost_today, budget_usd_day, day } = status;
    const today = new Date(clock.now()).toISOString().slice(0, 10);
    const hasBudget = budget_usd_day !== undefined && day === today;
    return {
      ...{ name, state, since, isBusy: state === "running", process: run, runsAs: "run" },
      log: files.latestLog(key),
      questionLink: files.questionPath(name),
      spent: hasBudget ? { usd: cost_today, budgetUsd: budget_usd_day } : null,
    };
  };
  return {
    folder: files.folder,
    list: () =>
      files.names().flatMap((key) => {
        const status = files.status(key);
        return status === null ? [] : [entry(key, status)];
      }),
    find: (name) => {
      // The singleton's file has no name in it: its status says what it is called.
      const key = isName(name) && files.names().includes(name) ? name : "";
      const status = files.status(key);
      return status === null || (key === "" && status.name !== name) ? null : entry(key, status);
    },
    stepsFrom: (from) => {
      const latest = from === null ? files.lastLines(FIRST_STEPS) : [];
      const { lines, place } = files.linesFrom(from);
      return { steps: [...latest, ...lines].map(stepFrom), position: place };
    },
  };
}

function stepFrom(line: CrewLine): AgentStep {
  const step: AgentStep = { agent: line.agent, at: line.ts * 1000 };
  if ("tool" in line) step.tool = { tool: line.tool, target: line.target };
  if ("run" in line) step.endsRun = true;
  return step;
}

/** The agents of a `viv up`: each is its run, or else its worker. They write no steps. */
function fleetAgents(files: UpFiles, pit: string): AgentHome {
  const find = (name: string): AgentEntry | null => {
    const agent = isName(name) && files.names().includes(name) ? files.agent(name) : null;
    if (agent === null) return null;
    const { state, since, run, pid, started, boot, host } = agent;
    const hasWorker = pid !== null && started !== null && boot !== null && host !== null;
    const worker = hasWorker ? { pid, started, boot, host, claim: "" } : null;
    const runsAs = run === null ? "worker" : "run";
    return {
      ...{ name, state, since, isBusy: state === "working", process: run ?? worker, runsAs },
      ...{ log: files.logOf(name, runsAs), questionLink: null, spent: null },
    };
  };
  return {
    folder: pit,
    list: () => files.names().flatMap((name) => find(name) ?? []),
    find,
    stepsFrom: () => ({ steps: [], position: 0 }),
  };
}
