import type { ProcessIdentity } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { ChildEnd } from "../platform/processes/children.ts";
import {
  agentEnv,
  describeEnd,
  describeRun,
  lastError,
  newsIn,
  runArgv,
  type Surroundings,
  workerArgv,
} from "./agent-programs.ts";
import type { Agent, AgentStanding, AgentWorker } from "./agents.ts";
import {
  type Death,
  type IntervalEvent,
  intervalRun,
  NEVER_STARTED,
  type RestartEvent,
  restartedProcess,
} from "./supervise.ts";
import type { AgentState, AgentStateName, UpFiles } from "./up-files.ts";
import type { UpEvent, UpHost } from "./up-ports.ts";

/** One agent around a pit: its worker, its runs at an interval, or both, and its file in `.viv/up/`. */
export function agentMember(
  agent: Agent,
  around: Surroundings,
  host: UpHost,
  files: UpFiles,
  emit: (event: UpEvent) => void,
) {
  const { name } = agent;
  const { machine, timers } = host;
  const time = { clock: machine.clock, timers };
  const now = () => iso(machine.clock.now());
  let worker: Part = { state: "starting", note: "", process: null };
  let run: Part = { state: "resting", note: "", process: null };
  let mark = "";
  /** Why it leaves food alone. */
  let held = "";
  /** It has worked as configured, so a refusal may pass: a file it needs is being changed. */
  let wasReady = false;
  /** For its name; reported once. */
  let isWaiting = false;
  /** Since it was started, or started again. */
  let hasWorked = false;
  let state: AgentState = {
    ...{ name, species: agent.species, state: "starting", ...NO_PROCESS, since: now() },
    ...{ restarts: 0, last_run: null, next_run: null, last_exit: null, note: "", run: null },
  };

  /** The state of both parts, with the given changes, written to its file. */
  const change = (given: Partial<AgentState>) => {
    const part = supervised === undefined || run.state === "working" ? run : worker;
    const next: AgentState = {
      ...state,
      ...(worker.process ?? run.process ?? NO_PROCESS),
      state: part.state,
      note: [worker.note, run.note].filter(Boolean).join("; "),
      ...given,
    };
    if (next.state !== state.state) next.since = now();
    state = next;
    try {
      files.write(next);
    } catch (error) {
      // Its work goes on; its file is late until the next change.
      emit({ kind: "trouble", name, message: messageOf(error) });
    }
  };

  const emitStarted = () => {
    isWaiting = false;
    emit({ kind: "started", name, pid: worker.process?.pid ?? 0 });
  };

  /** A worker would make a run in place of a pit that was removed. */
  const hasPit = () => host.isFolder(`${around.pit}/claimed`);
  const judge = (end: ChildEnd): Death | "finished" => {
    if (!hasPit()) return "refused";
    if (end.exit === 0 && around.drain) return "finished";
    if (lastError(end).code === "WORKER_TAKEN") return "taken";
    return end.exit === USAGE && !wasReady ? "refused" : "died";
  };

  const onLine = (line: string) => {
    const news = newsIn(line);
    if (news === null) return;
    if (isWaiting) emitStarted();
    wasReady = true;
    hasWorked ||= news.kind === "busy";
    if (news.kind === "warning") worker.note = news.message;
    else {
      if (news.kind === "held") held = news.reasons;
      const works = news.kind === "held" ? worker.state === "working" : news.kind === "busy";
      worker.state = works ? "working" : held ? "paused" : "idle";
      worker.note = held;
    }
    change({});
  };

  const onWorker = (event: RestartEvent) => {
    switch (event.kind) {
      case "started":
        worker = { state: "starting", note: "", process: event.child.process };
        held = "";
        change({});
        if (!isWaiting) emitStarted();
        return;
      case "ended": {
        const { death, end } = event;
        const exit = end.signal ?? end.exit;
        const isFine = death === "stopped" || death === "finished";
        const note = isFine ? "" : death === "taken" ? lastError(end).message : describeEnd(end);
        worker = { state: "resting", note, process: null };
        change({ last_exit: exit });
        if (death !== "taken") emit({ kind: "ended", name, exit, note });
        else if (!isWaiting) emit({ kind: "waits", name, note });
        isWaiting = death === "taken";
        return;
      }
      case "restarts":
        if (isWaiting) return;
        change({ restarts: state.restarts + 1 });
        emit({ kind: "restarts", name, after_ms: event.afterMs });
        return;
      case "over": {
        const isParked = event.how === "parked";
        const note = isParked ? `${event.why} (${worker.note})` : "";
        worker = { ...worker, state: event.how, note };
        change({});
        if (isParked) emit({ kind: "parked", name, note });
      }
    }
  };

  const onRun = (event: IntervalEvent) => {
    if (event.kind === "runs") {
      const { ref } = event.running;
      const { host: hostName, boot } = machine.self();
      const process = ref && { host: hostName, boot, pid: ref.pid, started: ref.started };
      run = { state: "working", note: "", process };
      const tree = process && { ...process, claim: mark };
      change({ last_run: iso(event.at), next_run: null, run: tree });
      emit({ kind: "runs", name, pid: ref?.pid ?? null });
      return;
    }
    const { finished, nextAt } = event;
    const exit = finished.signal ?? finished.exit;
    const next_run = nextAt === null ? null : iso(nextAt);
    const note = describeRun(finished);
    run = { state: "resting", note, process: null };
    change({ last_exit: exit, next_run, run: null });
    const duration_ms = Math.round(finished.durationMs);
    emit({ kind: "ran", name, exit, duration_ms, next_run, note });
  };

  const startWorker = (given: AgentWorker) => {
    if (!hasPit()) return NEVER_STARTED;
    return host.children.start({
      argv: workerArgv(agent, given, around),
      cwd: around.folder,
      env: { ...agentEnv(agent, around), ...around.handing() },
      logPath: files.logOf(name, "worker"),
      onLine,
    });
  };

  const startRun = (standing: AgentStanding) => {
    mark = host.newMark();
    return host.handlers.start({
      argv: runArgv(standing, around),
      cwd: around.pit,
      env: { ...agentEnv(agent, around), ...(isOurs(standing) ? around.handing() : {}) },
      stdin: "",
      claim: mark,
      logPath: files.logOf(name, "run"),
      logBytes: RUN_LOG_BYTES,
      timeoutMs: standing.timeoutMs,
      killAfterMs: RUN_KILL_AFTER_MS,
    });
  };

  const isOurs = ({ does }: AgentStanding) => does.kind === "sweep";
  const { worker: works, standing } = agent;
  const supervise = () =>
    works && restartedProcess(() => startWorker(works), judge, time, onWorker);
  let supervised = supervise();
  const interval = standing && intervalRun(standing.everyMs, () => startRun(standing), time, onRun);

  const stopped = () => {
    run.state = "stopped";
    change({ next_run: null });
  };

  return {
    name,
    /** A stop waits for it. */
    isBusy: () => state.state === "working",
    /** When its worker has ended by itself or is parked; undefined: it has none. */
    over: () => supervised?.over,
    hasWorked: () => hasWorked,
    start: () => {
      change({});
      supervised?.start();
      interval?.start();
    },
    /** Only a worker that has ended by itself. */
    startAgain: () => {
      hasWorked = false;
      if (works === undefined || worker.state !== "ended") return;
      supervised = supervise();
      supervised?.start();
    },
    stop: async () => {
      await Promise.all([supervised?.stop(), interval?.stop()]);
      stopped();
    },
    stopNow: async () => {
      await Promise.all([supervised?.stopNow(), interval?.stop(true)]);
      stopped();
    },
  };
}

interface Part {
  state: AgentStateName;
  note: string;
  process: ProcessIdentity | null;
}

const NO_PROCESS = { pid: null, started: null, boot: null, host: null };
const USAGE = 2; // the exit status of wrong usage (SPEC §11)
const RUN_LOG_BYTES = 1024 * 1024;
const RUN_KILL_AFTER_MS = 10_000;

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
