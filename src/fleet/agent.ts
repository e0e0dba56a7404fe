import type { ProcessIdentity } from "../base/clock.ts";
import { messageOf } from "../base/errors.ts";
import type { ChildEnd } from "../platform/processes/children.ts";
import type { RunningHandler } from "../platform/processes/handlers.ts";
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
  type IntervalRun,
  intervalRun,
  type RestartEnd,
  type RestartEvent,
  type RestartedProcess,
  restartedProcess,
} from "./supervise.ts";
import type { AgentState, AgentStateName, UpFiles } from "./up-files.ts";
import type { UpEvent, UpHost } from "./up-host.ts";

/** One agent around a pit: its worker, its runs at an interval, or both, and its file in `.viv/up/`. */
export class AgentMember {
  readonly name: string;
  readonly #agent: Agent;
  readonly #around: Surroundings;
  readonly #host: UpHost;
  readonly #files: UpFiles;
  readonly #emit: (event: UpEvent) => void;
  #process: RestartedProcess | undefined;
  readonly #interval: IntervalRun | undefined;
  #state: AgentState;
  #worker: Part = { state: "starting", note: "", process: null };
  #run: Part = { state: "resting", note: "", process: null };
  #mark = "";
  /** Why it leaves food alone. */
  #held = "";
  /** It has worked as configured, so a refusal may pass: a file it needs is being changed. */
  #wasReady = false;
  /** For its name; reported once. */
  #isWaiting = false;
  /** Since it was started, or started again. */
  hasWorked = false;

  constructor(
    agent: Agent,
    around: Surroundings,
    host: UpHost,
    files: UpFiles,
    emit: (event: UpEvent) => void,
  ) {
    this.name = agent.name;
    this.#agent = agent;
    this.#around = around;
    this.#host = host;
    this.#files = files;
    this.#emit = emit;
    this.#state = {
      ...{ name: agent.name, species: agent.species, state: "starting" },
      ...NO_PROCESS,
      ...{ since: this.#now(), restarts: 0, last_run: null, next_run: null, last_exit: null },
      ...{ note: "", run: null },
    };
    this.#process = agent.worker && this.#newProcess(agent.worker);
    this.#interval = agent.standing && this.#newInterval(agent.standing);
  }

  /** A stop waits for it. */
  get isBusy(): boolean {
    return this.#state.state === "working";
  }

  /** When its worker has ended by itself or is parked; undefined: it has none. */
  get over(): Promise<RestartEnd> | undefined {
    return this.#process?.over;
  }

  /** Only a worker that has ended by itself. */
  startAgain(): void {
    const { worker } = this.#agent;
    this.hasWorked = false;
    if (worker === undefined || this.#worker.state !== "ended") return;
    this.#process = this.#newProcess(worker);
    this.#process.start();
  }

  start(): void {
    this.#change({});
    this.#process?.start();
    this.#interval?.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#process?.stop(), this.#interval?.stop()]);
    this.#stopped();
  }

  async stopNow(): Promise<void> {
    await Promise.all([this.#process?.stopNow(), this.#interval?.stop(true)]);
    this.#stopped();
  }

  #stopped(): void {
    this.#run.state = "stopped";
    this.#change({ next_run: null });
  }

  #newProcess(worker: AgentWorker): RestartedProcess {
    const start = () =>
      this.#host.children.start({
        argv: workerArgv(this.#agent, worker, this.#around),
        cwd: this.#around.folder,
        env: agentEnv(this.#agent, this.#around),
        logPath: this.#files.logOf(this.name, "worker"),
        onLine: (line) => this.#onLine(line),
      });
    const judge = (end: ChildEnd) => this.#judge(end);
    return restartedProcess(start, judge, this.#time(), (event) => this.#onWorker(event));
  }

  #judge(end: ChildEnd): Death | "finished" {
    if (end.exit === 0 && this.#around.drain) return "finished";
    if (lastError(end).code === "WORKER_TAKEN") return "taken";
    return end.exit === USAGE && !this.#wasReady ? "refused" : "died";
  }

  #onLine(line: string): void {
    const news = newsIn(line);
    if (news === null) return;
    if (this.#isWaiting) this.#emitStarted();
    this.#wasReady = true;
    this.hasWorked ||= news.kind === "busy";
    if (news.kind === "warning") this.#worker.note = news.message;
    else {
      if (news.kind === "held") this.#held = news.reasons;
      const was = this.#worker.state === "working";
      const works = news.kind === "held" ? was : news.kind === "busy";
      this.#worker.state = works ? "working" : this.#held ? "paused" : "idle";
      this.#worker.note = this.#held;
    }
    this.#change({});
  }

  #onWorker(event: RestartEvent): void {
    const { name } = this;
    switch (event.kind) {
      case "started":
        this.#worker = { state: "starting", note: "", process: event.child.process };
        this.#held = "";
        this.#change({});
        if (!this.#isWaiting) this.#emitStarted();
        return;
      case "ended": {
        const { death, end } = event;
        const exit = end.signal ?? end.exit;
        const isFine = death === "stopped" || death === "finished";
        const note = isFine ? "" : death === "taken" ? lastError(end).message : describeEnd(end);
        this.#worker = { state: "resting", note, process: null };
        this.#change({ last_exit: exit });
        if (death !== "taken") this.#emit({ kind: "ended", name, exit, note });
        else if (!this.#isWaiting) this.#emit({ kind: "waits", name, note });
        this.#isWaiting = death === "taken";
        return;
      }
      case "restarts":
        if (this.#isWaiting) return;
        this.#change({ restarts: this.#state.restarts + 1 });
        this.#emit({ kind: "restarts", name, after_ms: event.afterMs });
        return;
      case "over": {
        const isParked = event.how === "parked";
        const note = isParked ? `${event.why} (${this.#worker.note})` : "";
        this.#worker = { ...this.#worker, state: event.how, note };
        this.#change({});
        if (isParked) this.#emit({ kind: "parked", name, note });
      }
    }
  }

  #emitStarted(): void {
    this.#isWaiting = false;
    this.#emit({ kind: "started", name: this.name, pid: this.#worker.process?.pid ?? 0 });
  }

  #newInterval(standing: AgentStanding): IntervalRun {
    const start = () => this.#startRun(standing);
    return intervalRun(standing.everyMs, start, this.#time(), (event) => this.#onRun(event));
  }

  #time() {
    return { clock: this.#host.machine.clock, timers: this.#host.timers };
  }

  #startRun(standing: AgentStanding): RunningHandler {
    this.#mark = this.#host.newMark();
    return this.#host.handlers.start({
      argv: runArgv(standing, this.#around),
      cwd: this.#around.pit,
      env: agentEnv(this.#agent, this.#around),
      stdin: "",
      claim: this.#mark,
      logPath: this.#files.logOf(this.name, "run"),
      logBytes: RUN_LOG_BYTES,
      timeoutMs: standing.timeoutMs,
      killAfterMs: RUN_KILL_AFTER_MS,
    });
  }

  #onRun(event: IntervalEvent): void {
    const { name } = this;
    if (event.kind === "runs") {
      const { ref } = event.running;
      const { host, boot } = this.#host.machine.self();
      const process = ref && { host, boot, pid: ref.pid, started: ref.started };
      this.#run = { state: "working", note: "", process };
      const run = process && { ...process, claim: this.#mark };
      this.#change({ last_run: iso(event.at), next_run: null, run });
      this.#emit({ kind: "runs", name, pid: ref?.pid ?? null });
      return;
    }
    const { finished, nextAt } = event;
    const exit = finished.signal ?? finished.exit;
    const next_run = nextAt === null ? null : iso(nextAt);
    const note = describeRun(finished);
    this.#run = { state: "resting", note, process: null };
    this.#change({ last_exit: exit, next_run, run: null });
    const duration_ms = Math.round(finished.durationMs);
    this.#emit({ kind: "ran", name, exit, duration_ms, next_run, note });
  }

  /** The state of both parts, with the given changes, written to its file. */
  #change(given: Partial<AgentState>): void {
    const isRunning = this.#run.state === "working";
    const part = this.#process === undefined || isRunning ? this.#run : this.#worker;
    const { process } = this.#worker.process === null ? this.#run : this.#worker;
    const next: AgentState = {
      ...this.#state,
      ...(process ?? NO_PROCESS),
      state: part.state,
      note: [this.#worker.note, this.#run.note].filter(Boolean).join("; "),
      ...given,
    };
    if (next.state !== this.#state.state) next.since = this.#now();
    this.#state = next;
    try {
      this.#files.write(next);
    } catch (error) {
      // Its work goes on; its file is late until the next change.
      this.#emit({ kind: "trouble", name: this.name, message: messageOf(error) });
    }
  }

  #now(): string {
    return iso(this.#host.machine.clock.now());
  }
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
