import { isVivError, unlessRefused } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { quoted } from "../base/text.ts";
import { crewPs } from "../crew/operations.ts";
import { findCrew } from "../crew/requests.ts";
import { type FleetState, fleetFilesIn } from "../fleet/fleet-files.ts";
import { scheduleLs } from "../fleet/schedule/operations.ts";
import { upFilesIn } from "../fleet/up-files.ts";
import { isRunning } from "../fleet/ups.ts";
import type { Io } from "../operation/io.ts";
import type { Context } from "../operation/operation.ts";
import type {
  CrewFacts,
  ParkedAgent,
  ReportPort,
  WardenFacts,
} from "../overview/report/report-port.ts";
import { askGit } from "../platform/git/git.ts";
import { localMachine } from "../platform/processes/machine.ts";
import { hasKilled } from "../warden/dance.ts";
import { danceViews, wardenPlace } from "../warden/operations/warden-place.ts";
import { findRun } from "./find-run.ts";

/** What a report says about the crew and the warden: those that their own commands find here. */
export const reportPorts: ReportPort = {
  ...{ crew, parkedAgents, failedSchedules, upNote, warden, commitsNotIn, defaultRun },
};

async function crew(context: Context, since: string): Promise<CrewFacts | null> {
  let found: Awaited<ReturnType<typeof findCrew>>;
  try {
    found = await findCrew(context, undefined);
  } catch (error) {
    if (isVivError(error, "RUN_NOT_FOUND")) return null;
    throw error;
  }
  const { members } = await crewPs.run(context, { state: found.state });
  const start = Date.parse(since);
  const runs = found.files.lastLines(Number.MAX_SAFE_INTEGER).flatMap((line) => {
    if (!("run" in line)) return [];
    const to = line.ts * 1000; // the seed's lines count seconds
    if (!(to >= start)) return [];
    const from = to - line.seconds * 1000;
    return [{ name: line.agent, from, to, outcome: line.run }];
  });
  return {
    runs,
    members: members.map(({ name, state, note, cost_today }) => ({
      ...{ name, note, isParked: state === "parked", usdToday: cost_today },
    })),
  };
}

async function parkedAgents(run: string): Promise<ParkedAgent[]> {
  const files = upFilesIn(run);
  const service = files.service();
  const names = Array.isArray(service?.agents) ? service.agents.filter(isName) : [];
  const config = String(service?.config ?? "agents.toml");
  const agents = names.flatMap((name) => {
    const { state, note = "" } = files.agent(name) ?? {};
    const command = `viv status --config ${quoted(config)}`;
    return state === "parked" ? [{ name, note: String(note), command }] : [];
  });
  const parts = (fleetAt(run)?.parts ?? []).filter(({ state }) => state === "parked");
  return [...agents, ...parts.map(({ name, note }) => ({ name, note, command: "viv ps" }))];
}

async function failedSchedules(context: Context): ReturnType<ReportPort["failedSchedules"]> {
  const found = await unlessRefused(() => scheduleLs.run(context, {}));
  return (found?.schedules ?? []).filter(({ note, state }) => note !== "" && state === "on");
}

function upNote(run: string): string | null {
  return fleetAt(run)?.note || null;
}

/** The `viv up` of this run, if it is there. */
function fleetAt(run: string): FleetState | null {
  const last = fleetFilesIn(run).read();
  return last !== null && isRunning(last, localMachine()) ? last : null;
}

async function warden(context: Context, since: string): Promise<WardenFacts | null> {
  const place = await wardenPlace(context);
  const { files } = place;
  const start = Date.parse(since);
  const killed = files.receipts(start).filter((one) => hasKilled(one) && one.ended_at >= since);
  const held = danceViews(place, context.now()).filter((one) => one.held !== null);
  return {
    paused: files.paused()?.why ?? null,
    held: held.map(({ target }) => target),
    kills: killed.map(({ dog, warrant, why, ended_at, reaped }) => ({
      ...{ kind: warrant.kind, target: warrant.target, home: warrant.home, at: ended_at, why },
      ...{ warrant: warrant.id, tasks: reaped, receipt: `${files.folder}/completed/${dog}.json` },
    })),
  };
}

async function commitsNotIn(repository: string, target: string | null, commits: readonly string[]) {
  const wanted = commits.filter((commit) => /^[0-9a-f]{40,64}$/.test(commit));
  const branches = target === null ? "^HEAD" : await branchesOf(repository, target);
  const stdin = [...wanted, branches, ""].join("\n");
  const args = ["rev-list", "--ignore-missing", "--stdin"];
  const answer = await askGit(args, { cwd: repository, stdin }).catch(() => null);
  if (answer?.status !== 0) return []; // the repository or the branch is gone: nothing can be told
  const outside = new Set(answer.stdout.toString("utf8").split("\n"));
  return wanted.filter((commit) => outside.has(commit));
}

/** A pull request lands on the forge's branch: the one here follows when the person pulls. */
async function branchesOf(repository: string, target: string): Promise<string> {
  const fetched = ["for-each-ref", "--format=^%(refname)", `refs/remotes/*/${target}`];
  const remote = await askGit(fetched, { cwd: repository }).catch(() => null);
  const others = remote?.status === 0 ? remote.stdout.toString("utf8").trim() : "";
  return [`^refs/heads/${target}`, others].filter(Boolean).join("\n");
}

async function defaultRun({ here: { cwd, env } }: Context): Promise<string | null> {
  try {
    return (await findRun(undefined, { cwd, env } as Io, () => {})).path;
  } catch (error) {
    if (isVivError(error)) return null; // no run is meant here, or viv.toml has mistakes
    throw error;
  }
}
