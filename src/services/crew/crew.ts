import type { CrewFiles } from "../../host/crew-files.ts";
import type { Manifest, Member } from "../../model/crew-manifest.ts";
import type { TickOutcome } from "../../model/crew-status.ts";
import { VivError } from "../../model/errors.ts";
import { suggest } from "../../model/names.ts";
import type { Gate } from "../gate.ts";
import { CrewMember, type Pace } from "./member.ts";
import type { CrewEvent, MemberContext, Runner } from "./ports.ts";

/**
 * The supervisor of a crew: one for one. It starts the members, tells them when the manifest has changed,
 * passes on what people ask for, and stops them. It sequences nothing.
 */
export interface CrewSettings extends Pace {
  manifest: string;
  /** The singleton has no gate, and files without a suffix. */
  isSingleton: boolean;
}

export interface CrewHost extends Pick<MemberContext, "machine" | "timers"> {
  files: CrewFiles;
  /** False when another process has this state folder. */
  take(): boolean;
  /** Reads the manifest as it is now. Throws INVALID when it cannot. */
  readManifest(): Manifest;
  /** Changes whenever a file of the crew does: the manifest, a def, a lifecycle. */
  stampOf(members: readonly Member[]): string;
  /** Calls back when the manifest's folder or the inbox may have changed; returns what ends that. */
  watch(act: () => void): () => void;
  /** Ends what is left of a run of a supervisor that died. The pids that would not die. */
  endLeftover(tree: NonNullable<ReturnType<CrewFiles["status"]>>["run"] & object): number[];
}

const LOOK_EVERY_MS = 1_000;
const SHOW_GATE_EVERY_MS = 100;

export class Crew {
  readonly #settings: CrewSettings;
  readonly #host: CrewHost;
  readonly #gate: Gate | null;
  readonly #runner: Runner;
  readonly #tell: (event: CrewEvent) => void;
  readonly #members = new Map<string, CrewMember>();
  #entries = new Map<string, Member>();
  #stamp = "";
  #cancelLook: () => void = () => {};
  #unwatch: () => void = () => {};
  #stopping: Promise<void> | null = null;
  #ended: () => void = () => {};
  readonly #done = new Promise<void>((resolve) => {
    this.#ended = resolve;
  });
  #isGateShown = true;

  constructor(
    settings: CrewSettings,
    host: CrewHost,
    parts: { gate: Gate | null; runner: Runner; tell: (event: CrewEvent) => void },
  ) {
    this.#settings = settings;
    this.#host = host;
    this.#gate = parts.gate;
    this.#runner = parts.runner;
    this.#tell = parts.tell;
    parts.gate?.onChange(() => this.#showGateSoon());
  }

  /** Until it is stopped. Rejects when another supervisor has the state folder, or nobody is in the manifest. */
  async run(port?: number): Promise<void> {
    this.begin(port);
    await this.#done;
    this.#tell({ kind: "finished" });
  }

  begin(port?: number): void {
    const { host, settings } = { host: this.#host, settings: this.#settings };
    if (!host.take()) throw takenError(host.files);
    const { members, log } = host.readManifest();
    for (const text of log) this.#tell({ kind: "log", text });
    if (members.length === 0) {
      const message = `${settings.manifest} has no member with a def; give one a :DEF:`;
      throw new VivError("INVALID", message);
    }
    this.#endLeftovers();
    const names = members.map(({ name }) => name);
    const self = host.machine.self();
    host.files.writeJson("crew", {
      ...self,
      manifest: settings.manifest,
      singleton: settings.isSingleton,
      members: names,
      port: port ?? null,
      since: new Date(host.machine.clock.now()).toISOString(),
    });
    this.#tell({
      ...{ kind: "up", pid: self.pid, manifest: settings.manifest, members: names },
      ...(port === undefined ? {} : { port }),
    });
    this.#stamp = host.stampOf(members);
    for (const member of members) this.#add(member);
    this.#showGate();
    this.#unwatch = host.watch(() => this.#look());
    this.#lookLater();
  }

  async stop(): Promise<void> {
    this.#stopping ??= this.#stop(false);
    await this.#stopping;
  }

  async stopNow(): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => member.stopNow()));
    await this.stop();
  }

  tick(name: string): Promise<TickOutcome | null> {
    return this.#memberNamed(name).tickNow();
  }

  async #stop(isAtOnce: boolean): Promise<void> {
    this.#cancelLook();
    this.#unwatch();
    const running = [...this.#members.values()].filter(({ isRunning }) => isRunning);
    this.#tell({ kind: "stopping", running: running.map(({ name }) => name) });
    await Promise.all(
      [...this.#members.values()].map((member) => (isAtOnce ? member.stopNow() : member.stop())),
    );
    this.#showGate();
    this.#ended();
  }

  #add(member: Member): void {
    const { machine, timers, files } = this.#host;
    const context: MemberContext = {
      ...{ machine, timers, files, gate: this.#gate, runner: this.#runner, tell: this.#tell },
    };
    const one = new CrewMember(member, this.#settings.isSingleton ? "" : member.name, context);
    this.#members.set(member.name, one);
    this.#entries.set(member.name, member);
    one.start(this.#settings);
  }

  #endLeftovers(): void {
    const { files } = this.#host;
    for (const key of files.names()) {
      const status = files.status(key);
      if (!status?.run) continue;
      const { pid } = status.run;
      const survivors = this.#host.endLeftover(status.run);
      files.writeStatus(key, { ...status, run: null, state: "stopped", note: "its run was ended" });
      this.#tell({ kind: "leftover", name: status.name, pid, survivors });
    }
  }

  #lookLater(): void {
    this.#cancelLook();
    this.#cancelLook = this.#host.timers.after(LOOK_EVERY_MS, () => {
      this.#look();
      this.#lookLater();
    });
  }

  /** What has changed, and what somebody asks for. Nothing here may end the supervisor. */
  #look(): void {
    if (this.#stopping) return;
    try {
      this.#readAgain();
      for (const { id, request } of this.#host.files.takeRequests()) this.#obey(id, request);
    } catch (error) {
      this.#tell({ kind: "trouble", name: "crew", message: (error as Error).message });
    }
  }

  #readAgain(): void {
    const stamp = this.#host.stampOf([...this.#entries.values()]);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    let manifest: Manifest;
    try {
      manifest = this.#host.readManifest();
    } catch (error) {
      // Half written, or broken: the crew goes on as it is.
      const message = `the manifest cannot be used as it is now: ${(error as Error).message}`;
      this.#tell({ kind: "trouble", name: "crew", message });
      return;
    }
    for (const text of manifest.log) this.#tell({ kind: "log", text });
    const now = new Map(manifest.members.map((member) => [member.name, member]));
    for (const name of [...this.#members.keys()]) if (!now.has(name)) this.#remove(name);
    for (const member of manifest.members) {
      const before = this.#entries.get(member.name);
      if (before === undefined) {
        this.#tell({ kind: "added", name: member.name, note: "" });
        this.#add(member);
        continue;
      }
      this.#entries.set(member.name, member);
      if (JSON.stringify({ ...before, line: 0 }) !== JSON.stringify({ ...member, line: 0 })) {
        this.#tell({ kind: "changed", name: member.name, note: "" });
      }
      this.#members.get(member.name)?.update(member, this.#settings);
    }
    this.#stamp = this.#host.stampOf(manifest.members);
  }

  #remove(name: string): void {
    const member = this.#members.get(name);
    this.#members.delete(name);
    this.#entries.delete(name);
    this.#tell({ kind: "removed", name, note: member?.isRunning ? "its run may finish" : "" });
    void member?.stop();
  }

  #obey(id: string, request: unknown): void {
    const { cmd, name, max } = (request ?? {}) as { cmd?: string; name?: string; max?: number };
    const answer = (value: unknown) => this.#host.files.answer(id, value);
    try {
      if (typeof max === "number") {
        this.#gate?.setMax(max);
        return answer({ ok: true });
      }
      if (cmd === "stop" && name === undefined) {
        answer({ ok: true });
        void this.stop();
        return;
      }
      const member = this.#memberNamed(String(name));
      if (cmd === "tick") {
        void member.tickNow().then((outcome) => answer({ ok: true, outcome, state: member.state }));
        return;
      }
      if (cmd === "pause" || cmd === "stop") member.pause();
      else if (cmd === "resume") member.resume();
      else throw new VivError("USAGE", `nobody knows how to ${cmd}.`);
      this.#tell({ kind: cmd === "resume" ? "resumed" : "paused", name: member.name, note: "" });
      answer({ ok: true, state: member.state });
    } catch (error) {
      answer({ ok: false, message: (error as Error).message });
    }
  }

  #memberNamed(name: string): CrewMember {
    const member = this.#members.get(name);
    if (member) return member;
    const meant = suggest(name, this.#members.keys());
    const hint = meant
      ? `did you mean ${meant}?`
      : `there are: ${[...this.#members.keys()].join(", ")}`;
    throw new VivError("TASK_NOT_FOUND", `there is no member ${JSON.stringify(name)}; ${hint}`);
  }

  #showGateSoon(): void {
    if (!this.#isGateShown) return;
    this.#isGateShown = false;
    this.#host.timers.after(SHOW_GATE_EVERY_MS, () => this.#showGate());
  }

  #showGate(): void {
    this.#isGateShown = true;
    if (this.#gate === null) return;
    const { machine, files } = this.#host;
    try {
      files.writeJson("gate", { ...this.#gate.view(), at: machine.clock.now(), ...machine.self() });
    } catch (error) {
      this.#tell({ kind: "trouble", name: "gate", message: (error as Error).message });
    }
  }
}

function takenError(files: CrewFiles): VivError {
  const crew = files.readJson("crew") as { pid?: number } | null;
  const who = crew?.pid ? ` (pid ${crew.pid})` : "";
  return new VivError(
    "WORKER_TAKEN",
    `a crew runs already with the state in ${files.folder}${who}; stop it with: viv crew stop, or choose another --state.`,
  );
}
