import type { ProcessIdentity } from "../base/clock.ts";
import type { ChildEnd } from "../platform/processes/children.ts";
import type { RunningHandler } from "../platform/processes/handlers.ts";
import type { AgentState, AgentStateName } from "./agent-state.ts";
import type { Agent, AgentStanding, AgentWorker } from "./agents.ts";
import { agentEnv, type Surroundings, standingArgv, workerArgv } from "./commands.ts";
import type { UpEvent } from "./events.ts";
import { KeptAlive, type KeptEnd, type KeptEvent } from "./keep-alive.ts";
import type { UpHost } from "./ports.ts";
import { describeRun, Standing, type StandingEvent } from "./standing.ts";
import type { Member } from "./supervisor.ts";
import type { UpFiles } from "./up-files.ts";
import { describeEnd, lastError, saidBy } from "./worker-words.ts";

/** One agent around a pit: its worker, its runs now and then, or both, and its file in `.viv/up/`. */
export class AgentMember implements Member {
  readonly name: string;
  readonly #agent: Agent;
  readonly #around: Surroundings;
  readonly #host: UpHost;
  readonly #files: UpFiles;
  readonly #tell: (event: UpEvent) => void;
  #kept: KeptAlive | undefined;
  readonly #standing: Standing | undefined;
  #state: AgentState;
  #worker: Part = { state: "starting", note: "", process: null };
  #run: Part = { state: "resting", note: "", process: null };
  #mark = "";
  /** What it leaves alone, and why. */
  #held = "";
  /** Then a refusal is not for good: somebody is changing what it needs. */
  #wasReady = false;
  /** For its name: it looks again and again, which is told once. */
  #isWaiting = false;
  #hasWorked = false;

  constructor(
    agent: Agent,
    around: Surroundings,
    host: UpHost,
    files: UpFiles,
    tell: (event: UpEvent) => void,
  ) {
    this.name = agent.name;
    this.#agent = agent;
    this.#around = around;
    this.#host = host;
    this.#files = files;
    this.#tell = tell;
    this.#state = {
      ...{ name: agent.name, species: agent.species, state: "starting" },
      ...NO_PROCESS,
      ...{ since: this.#now(), restarts: 0, last_run: null, next_run: null, last_exit: null },
      ...{ note: "", run: null },
    };
    this.#kept = agent.worker && this.#newKept(agent.worker);
    const { standing } = agent;
    if (standing) {
      const ports = { clock: host.machine.clock, timers: host.timers };
      const command = { everyMs: standing.everyMs, start: () => this.#startRun(standing) };
      this.#standing = new Standing(command, ports, (event) => this.#onRun(event));
    }
  }

  get isBusy(): boolean {
    return this.#state.state === "working";
  }

  /** Of its worker: undefined when it has none. */
  get over(): Promise<KeptEnd> | undefined {
    return this.#kept?.over;
  }

  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  startAgain(): void {
    const { worker } = this.#agent;
    this.#hasWorked = false;
    if (worker === undefined || this.#worker.state !== "ended") return;
    this.#kept = this.#newKept(worker);
    this.#kept.start();
  }

  start(): void {
    this.#change({});
    this.#kept?.start();
    this.#standing?.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#kept?.stop(), this.#standing?.stop()]);
    this.#stopped();
  }

  async stopNow(): Promise<void> {
    await Promise.all([this.#kept?.stopNow(), this.#standing?.stop(true)]);
    this.#stopped();
  }

  #stopped(): void {
    this.#run.state = "stopped";
    this.#change({ next_run: null });
  }

  #newKept(worker: AgentWorker): KeptAlive {
    const { machine, timers } = this.#host;
    const program = {
      start: () => this.#startWorker(worker),
      judge: (end: ChildEnd) => this.#judge(end),
    };
    return new KeptAlive(program, { clock: machine.clock, timers }, (event) =>
      this.#onWorker(event),
    );
  }

  #startWorker(worker: AgentWorker) {
    const { name } = this.#agent;
    return this.#host.children.start({
      argv: workerArgv(this.#agent, worker, this.#around),
      cwd: this.#around.folder,
      env: agentEnv(this.#agent, this.#around),
      logPath: this.#files.logOf(name, "worker"),
      onLine: (line) => this.#heard(line),
    });
  }

  #judge(end: ChildEnd): "died" | "refused" | "taken" | "finished" {
    if (end.exit === 0 && this.#around.drain) return "finished";
    if (lastError(end).code === "WORKER_TAKEN") return "taken";
    return end.exit === USAGE && !this.#wasReady ? "refused" : "died";
  }

  #heard(line: string): void {
    const said = saidBy(line);
    if (said === null) return;
    if (this.#isWaiting) this.#tellStarted();
    this.#wasReady = true;
    this.#hasWorked ||= said.kind === "works";
    if (said.kind === "trouble") this.#worker.note = said.message;
    else {
      if (said.kind === "held") this.#held = said.reasons;
      const was = this.#worker.state === "working";
      const works = said.kind === "held" ? was : said.kind === "works";
      this.#worker.state = works ? "working" : this.#held ? "paused" : "idle";
      this.#worker.note = this.#held;
    }
    this.#change({});
  }

  #onWorker(event: KeptEvent): void {
    const { name } = this;
    switch (event.kind) {
      case "started": {
        const { process } = event.child;
        this.#worker = { state: "starting", note: "", process };
        this.#held = "";
        this.#change({});
        if (!this.#isWaiting) this.#tellStarted();
        return;
      }
      case "ended": {
        const exit = event.end.signal ?? event.end.exit;
        const { death, end } = event;
        const isFine = death === "stopped" || death === "finished";
        const note = isFine ? "" : death === "taken" ? lastError(end).message : describeEnd(end);
        this.#worker = { state: "resting", note, process: null };
        this.#change({ last_exit: exit });
        if (death !== "taken") this.#tell({ kind: "ended", name, exit, note });
        else if (!this.#isWaiting) this.#tell({ kind: "waits", name, note });
        this.#isWaiting = death === "taken";
        return;
      }
      case "restarts":
        if (this.#isWaiting) return;
        this.#change({ restarts: this.#state.restarts + 1 });
        this.#tell({ kind: "restarts", name, after_ms: event.afterMs });
        return;
      case "over": {
        this.#worker.state = event.how;
        if (event.how !== "parked") this.#worker.note = "";
        else this.#worker.note = `${event.why} (${this.#worker.note})`;
        this.#change({});
        if (event.how === "parked") this.#tell({ kind: "parked", name, note: this.#worker.note });
      }
    }
  }

  #tellStarted(): void {
    this.#isWaiting = false;
    this.#tell({ kind: "started", name: this.name, pid: this.#worker.process?.pid ?? 0 });
  }

  #startRun(standing: AgentStanding): RunningHandler {
    const { name } = this.#agent;
    this.#mark = this.#host.newMark();
    return this.#host.handlers.start({
      argv: standingArgv(standing, this.#around),
      cwd: this.#around.pit,
      env: agentEnv(this.#agent, this.#around),
      stdin: "",
      claim: this.#mark,
      logPath: this.#files.logOf(name, "run"),
      logBytes: RUN_LOG_BYTES,
      timeoutMs: standing.timeoutMs,
      killAfterMs: RUN_KILL_AFTER_MS,
    });
  }

  #onRun(event: StandingEvent): void {
    const { name } = this;
    if (event.kind === "runs") {
      const { ref } = event.running;
      const { host, boot } = this.#host.machine.self();
      const process = ref && { host, boot, pid: ref.pid, started: ref.started };
      this.#run = { state: "working", note: "", process };
      const run = process && { ...process, claim: this.#mark };
      this.#change({ last_run: iso(event.at), next_run: null, run });
      this.#tell({ kind: "runs", name, pid: ref?.pid ?? null });
      return;
    }
    const { finished, nextAt } = event;
    const exit = finished.signal ?? finished.exit;
    const next_run = nextAt === null ? null : iso(nextAt);
    const note = describeRun(finished);
    this.#run = { state: "resting", note, process: null };
    this.#change({ last_exit: exit, next_run, run: null });
    const duration_ms = Math.round(finished.durationMs);
    this.#tell({ kind: "ran", name, exit, duration_ms, next_run, note });
  }

  /** What follows from the two parts, and what is given; written when it is another than before. */
  #change(given: Partial<AgentState>): void {
    const isRunning = this.#run.state === "working";
    const part = this.#kept === undefined || isRunning ? this.#run : this.#worker;
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
      // Its work goes on; what is shown of it is late until the next change.
      this.#tell({ kind: "trouble", name: this.name, message: messageOf(error) });
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
const USAGE = 2; // what makes no sense, as SPEC §11 has it
const RUN_LOG_BYTES = 1024 * 1024;
const RUN_KILL_AFTER_MS = 10_000;

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
