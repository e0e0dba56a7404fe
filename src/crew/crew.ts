import type { ClaimTree } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { suggest } from "../base/names.ts";
import type { Gate, GateView } from "../gate/gate.ts";
import type { CrewFiles } from "./files.ts";
import type { Manifest, Member } from "./manifest.ts";
import { CrewMember, isSameEntry, type Pace } from "./member.ts";
import type { CrewEvent, MemberContext, Runner } from "./ports.ts";
import { RanFiles } from "./ran-files.ts";
import { type Holder, holderFrom, type MemberState, type TickOutcome } from "./status.ts";

/**
 * The supervisor of a crew: one for one. It starts the members, tells them when the manifest has changed,
 * passes on what people ask for, and stops them. It sequences nothing.
 */
export interface CrewSettings extends Pace {
  manifest: string;
  /** The singleton has no gate, and files without a suffix. */
  isSingleton: boolean;
  /** Of the singleton, which has no manifest: what a tick without it must know. */
  keeper?: Readonly<Record<string, unknown>>;
}

export interface CrewHost extends Pick<MemberContext, "machine" | "timers" | "stampOf"> {
  files: CrewFiles;
  /** Null when another process has this state folder; else what says whether it is still ours. */
  take(): Promise<(() => boolean) | null>;
  /** Reads the manifest as it is now. Throws INVALID when it cannot. */
  readManifest(): Manifest;
  /** Calls back when the manifest's folder or the inbox may have changed; returns what ends that. */
  watch(act: () => void): () => void;
  /** Ends what is left of a run of a supervisor that died. The pids that would not die. */
  endLeftover(tree: ClaimTree): number[];
}

const LOOK_EVERY_MS = 1_000;
/** A manifest that was changed less than this ago may be half written. */
const SETTLES_MS = 100;
const SHOW_GATE_EVERY_MS = 100;
/** Who asks looks for the answer twenty times a second: after that he is gone. */
const ANSWERS_KEPT_MS = 10 * 60_000;

export interface Ticked {
  outcome: TickOutcome | null;
  state: MemberState;
  note: string;
}

export class Crew {
  readonly #settings: CrewSettings;
  readonly #host: CrewHost;
  readonly #gate: Gate | null;
  readonly #context: MemberContext;
  readonly #tell: (event: CrewEvent) => void;
  readonly #members = new Map<string, CrewMember>();
  /** No longer in the manifest, but in a run that may finish. */
  readonly #leaving = new Map<string, CrewMember>();
  #entries = new Map<string, Member>();
  /** Of the manifest as it was read, and as it was at the last look. */
  #stamp = "";
  #seen = { stamp: "", at: 0 };
  #port: number | null = null;
  #since = "";
  #isOurs: (() => boolean) | null = null;
  /** Why it ends by itself. */
  #lost: VivError | null = null;
  #droppedAt = 0;
  #cancelLook: () => void = () => {};
  #unwatch: () => void = () => {};
  #stopping: Promise<void> | null = null;
  #ended: () => void = () => {};
  readonly #done = new Promise<void>((resolve) => {
    this.#ended = resolve;
  });
  /** Of what shows the gate in a moment. */
  #cancelShow: (() => void) | null = null;
  #shownGate = "";

  constructor(
    settings: CrewSettings,
    host: CrewHost,
    parts: { gate: Gate | null; runner: Runner; tell: (event: CrewEvent) => void },
  ) {
    this.#settings = settings;
    this.#host = host;
    this.#gate = parts.gate;
    this.#tell = parts.tell;
    const { machine, timers, files, stampOf } = host;
    const ranFiles = new RanFiles();
    this.#context = { ...parts, machine, timers, files, stampOf, ranFiles };
    parts.gate?.onChange(() => this.#showGateSoon());
  }

  /** Until it is stopped. Rejects when another supervisor has the state folder, or nobody is in the manifest. */
  async run(port?: number): Promise<void> {
    await this.take();
    this.begin(port);
    await this.#done;
    if (this.#lost) throw this.#lost;
    this.#tell({ kind: "finished" });
  }

  /** Rejects when another process has the state folder. `member`: for one tick of that one. */
  async take(member?: string): Promise<void> {
    if (!this.#isOurs) this.own(await this.#host.take(), member);
  }

  /** The state folder is ours as long as `isOurs` says so; null: another process has it. */
  own(isOurs: (() => boolean) | null, member?: string): void {
    if (isOurs === null) throw takenError(this.#host);
    this.#isOurs = isOurs;
    const { files, machine } = this.#host;
    const kind = member === undefined ? (this.#settings.isSingleton ? "keeper" : "crew") : "tick";
    const holder: Holder = { ...machine.self(), kind, ...(member === undefined ? {} : { member }) };
    files.writeHolder(holder);
  }

  /** After `take`. */
  begin(port?: number): void {
    if (this.#stopping) return;
    const { host, settings } = { host: this.#host, settings: this.#settings };
    this.#stamp = host.stampOf([settings.manifest]);
    const members = this.#readFirst();
    this.#port = port ?? null;
    this.#since = new Date(host.machine.clock.now()).toISOString();
    for (const member of members) this.#entries.set(member.name, member);
    this.#writeCrew();
    this.#tell({
      ...{ kind: "up", pid: host.machine.self().pid, manifest: settings.manifest },
      members: members.map(({ name }) => name),
      ...(port === undefined ? {} : { port }),
    });
    for (const member of members) this.#add(member).start(settings);
    this.#showGate();
    this.#unwatch = host.watch(() => this.#look());
    this.#lookLater();
  }

  async stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  async stopNow(): Promise<void> {
    await Promise.all(this.#all().map((member) => member.stopNow()));
    await this.stop();
  }

  /** One tick of one member, and nobody else's clock runs. */
  async tickAlone(name: string): Promise<Ticked> {
    await this.take(name);
    for (const member of this.#readFirst()) this.#entries.set(member.name, member);
    const entry = this.#entries.get(name);
    if (entry === undefined) throw unknownMember(name, this.#entries.keys());
    const member = this.#add(entry);
    try {
      const outcome = await member.tickNow();
      return { outcome, state: member.state, note: member.note };
    } finally {
      await member.stop();
    }
  }

  async #stop(): Promise<void> {
    this.#cancelLook();
    this.#unwatch();
    const running = this.#all().filter(({ isInRun }) => isInRun);
    this.#tell({ kind: "stopping", running: running.map(({ name }) => name) });
    await Promise.all(this.#all().map((member) => member.stop()));
    this.#showGate();
    this.#ended();
  }

  #all(): CrewMember[] {
    return [...this.#members.values(), ...this.#leaving.values()];
  }

  /** Clears away what is left of those who had the folder before. */
  #readFirst(): Member[] {
    const { members, log } = this.#host.readManifest();
    for (const text of log) this.#tell({ kind: "log", text });
    if (members.length === 0) throw nobodyIn(this.#settings.manifest);
    this.#endLeftovers();
    // Asked of a crew that is gone; it would be strange to be stopped by yesterday's word.
    this.#host.files.tidy();
    return members;
  }

  #add(member: Member): CrewMember {
    const key = this.#settings.isSingleton ? "" : member.name;
    const one = new CrewMember(member, key, this.#context);
    this.#members.set(member.name, one);
    return one;
  }

  #endLeftovers(): void {
    const { files, machine } = this.#host;
    const { host, boot } = machine.self();
    for (const key of files.names()) {
      try {
        const status = files.status(key);
        const run = status?.run;
        if (!status || !run) continue;
        // Of another machine we can end nothing; after a reboot its number is somebody else's.
        const isOurs = run.host === host && run.boot === boot;
        const survivors = isOurs ? this.#host.endLeftover(run) : [];
        files.writeStatus(key, {
          ...{ ...status, run: survivors.length > 0 ? run : null },
          ...{ state: "stopped", note: "its run was ended" },
        });
        if (isOurs) this.#tell({ kind: "leftover", name: status.name, pid: run.pid, survivors });
      } catch (error) {
        this.#tell({ kind: "trouble", name: key, message: (error as Error).message });
      }
    }
  }

  #lookLater(): void {
    this.#cancelLook();
    this.#cancelLook = this.#host.timers.after(LOOK_EVERY_MS, () => {
      this.#look();
      if (!this.#stopping) this.#lookLater();
    });
  }

  /** What has changed, and what somebody asks for. Nothing here may end the supervisor. */
  #look(): void {
    if (this.#stopping) return;
    if (this.#isOurs?.() === false) {
      this.#giveUp();
      return;
    }
    const safely = (act: () => void) => {
      try {
        act();
      } catch (error) {
        this.#tell({ kind: "trouble", name: "crew", message: (error as Error).message });
      }
    };
    safely(() => this.#readAgain());
    safely(() => {
      for (const member of this.#members.values()) member.lookAgain();
    });
    safely(() => {
      for (const { id, request } of this.#host.files.takeRequests()) void this.#obey(id, request);
    });
    safely(() => this.#dropAnswers());
  }

  /**
   * Somebody has removed the folder: another crew can start there at any moment, and would know nothing of our
   * runs. So they end with us, and nothing more is written there.
   */
  #giveUp(): void {
    const { files } = this.#host;
    files.abandon();
    const what = `${files.folder} was removed or replaced under the crew that runs`;
    const message = `${what}, so it stops and ends its runs; start it again: viv crew up`;
    this.#lost = new VivError("WRONG_STATE", message);
    void this.stopNow();
  }

  #dropAnswers(): void {
    const { clock } = this.#host.machine;
    const at = clock.uptime() * 1000;
    if (at - this.#droppedAt < ANSWERS_KEPT_MS) return;
    this.#droppedAt = at;
    this.#host.files.dropAnswers(clock.now() - ANSWERS_KEPT_MS);
  }

  #readAgain(): void {
    const stamp = this.#host.stampOf([this.#settings.manifest]);
    if (stamp === this.#stamp) return;
    const at = this.#host.machine.clock.uptime() * 1000;
    if (stamp !== this.#seen.stamp) {
      this.#seen = { stamp, at };
      this.#host.timers.after(SETTLES_MS, () => this.#look());
    }
    if (Math.round(at - this.#seen.at) < SETTLES_MS) return;
    this.#stamp = stamp;
    let manifest: Manifest;
    try {
      manifest = this.#host.readManifest();
      if (manifest.members.length === 0) throw nobodyIn(this.#settings.manifest);
    } catch (error) {
      // Half written, or broken: the crew goes on as it is.
      const message = `the manifest cannot be used as it is now: ${(error as Error).message}`;
      this.#tell({ kind: "trouble", name: "crew", message });
      return;
    }
    for (const text of manifest.log) this.#tell({ kind: "log", text });
    this.#takeIn(manifest.members);
  }

  #takeIn(members: readonly Member[]): void {
    const now = new Map(members.map((member) => [member.name, member]));
    for (const name of [...this.#members.keys()]) if (!now.has(name)) this.#remove(name);
    const before = this.#entries;
    this.#entries = now;
    let added = 0;
    for (const member of members) {
      const known = this.#members.get(member.name);
      if (known === undefined) {
        if (this.#leaving.has(member.name)) continue; // it comes back when its run has ended
        this.#tell({ kind: "added", name: member.name, note: "" });
        // The stagger is among those that come together.
        this.#add(member).start(this.#settings, added++);
        continue;
      }
      const was = before.get(member.name);
      if (was === undefined || !isSameEntry(was, member)) {
        this.#tell({ kind: "changed", name: member.name, note: "" });
      }
      known.update(member);
    }
    this.#writeCrew();
  }

  #remove(name: string): void {
    const member = this.#members.get(name) as CrewMember;
    this.#members.delete(name);
    this.#tell({ kind: "removed", name, note: member.isInRun ? "its run may finish" : "" });
    this.#leaving.set(name, member);
    void member.stop().then(() => {
      this.#leaving.delete(name);
      if (this.#stopping) return;
      const entry = this.#entries.get(name);
      if (entry === undefined) {
        this.#writeCrewIfPossible();
        return;
      }
      this.#tell({ kind: "added", name, note: "" });
      this.#add(entry).start(this.#settings, 0);
    });
  }

  async #obey(id: string, request: unknown): Promise<void> {
    try {
      this.#host.files.answer(id, await this.#answerTo(request));
    } catch (error) {
      // Who asked gives up by himself.
      this.#tell({ kind: "trouble", name: "crew", message: (error as Error).message });
    }
  }

  async #answerTo(request: unknown): Promise<object> {
    const { cmd, name, max } = (request ?? {}) as { cmd?: unknown; name?: unknown; max?: unknown };
    try {
      if (max !== undefined) return this.#setMax(max);
      if (cmd === "stop" && name === undefined) {
        void this.stop();
        return { ok: true };
      }
      const member = this.#memberNamed(String(name));
      if (cmd === "tick") {
        const outcome = await member.tickNow();
        return { ok: true, outcome, state: member.state, note: member.note };
      }
      if (cmd === "pause") await member.pause();
      else if (cmd === "resume") member.resume();
      else throw new VivError("USAGE", `nobody knows how to ${JSON.stringify(cmd)}.`);
      this.#tell({ kind: cmd === "resume" ? "resumed" : "paused", name: member.name, note: "" });
      return { ok: true, state: member.state };
    } catch (error) {
      const code = error instanceof VivError ? error.code : undefined;
      return { ok: false, message: (error as Error).message, code };
    }
  }

  #setMax(max: unknown): object {
    if (this.#gate === null) throw new VivError("WRONG_STATE", "a keeper has no gate.");
    if (!Number.isSafeInteger(max) || Number(max) < 1) {
      throw new VivError("INVALID", "a crew's maximum is a whole number, at least 1.");
    }
    this.#gate.setMax(Number(max));
    return { ok: true };
  }

  #memberNamed(name: string): CrewMember {
    const member = this.#members.get(name);
    if (member) return member;
    throw unknownMember(name, this.#members.keys());
  }

  #writeCrew(): void {
    const { machine, files } = this.#host;
    const { manifest, isSingleton, keeper } = this.#settings;
    // Who was removed and still runs is seen until its run is over.
    const names = new Set([...this.#entries.keys(), ...this.#leaving.keys()]);
    files.writeJson("crew", {
      ...machine.self(),
      ...{ manifest, singleton: isSingleton, members: [...names] },
      ...{ port: this.#port, since: this.#since },
      ...(isSingleton && keeper ? { keeper } : {}),
    });
  }

  #writeCrewIfPossible(): void {
    try {
      this.#writeCrew();
    } catch (error) {
      this.#tell({ kind: "trouble", name: "crew", message: (error as Error).message });
    }
  }

  #showGateSoon(): void {
    // A slot that was taken and given back in one moment leaves nothing to show.
    if (this.#gate?.isIdle() && viewed(this.#gate).text === this.#shownGate) {
      this.#cancelShow?.();
      this.#cancelShow = null;
    } else {
      this.#cancelShow ??= this.#host.timers.after(SHOW_GATE_EVERY_MS, () => this.#showGate());
    }
  }

  #showGate(): void {
    this.#cancelShow?.();
    this.#cancelShow = null;
    if (this.#gate === null) return;
    const { machine, files } = this.#host;
    const { view, text } = viewed(this.#gate);
    if (text === this.#shownGate) return;
    try {
      files.writeJson("gate", { ...view, at: machine.clock.now(), ...machine.self() });
      this.#shownGate = text;
    } catch (error) {
      this.#tell({ kind: "trouble", name: "gate", message: (error as Error).message });
    }
  }
}

/** The text is another when there is something new to show. */
function viewed(gate: Gate): { view: GateView; text: string } {
  const view = gate.view();
  // Times of waiting are reckoned from `since` by whoever looks.
  const queue = view.queue.map(({ waiting_ms: _, ...rest }) => rest);
  return { view, text: JSON.stringify({ ...view, queue }) };
}

function nobodyIn(manifest: string): VivError {
  return new VivError("INVALID", `${manifest} has no member with a def; give one a :DEF:`);
}

function unknownMember(name: string, names: Iterable<string>): VivError {
  const known = [...names];
  const meant = suggest(name, known);
  const hint = meant ? `did you mean ${meant}?` : `there are: ${known.join(", ")}`;
  return new VivError("TASK_NOT_FOUND", `there is no member ${JSON.stringify(name)}; ${hint}`);
}

function takenError({ files, machine }: CrewHost): VivError {
  const { folder } = files;
  const refused = (message: string, pid?: number) =>
    new VivError("WORKER_TAKEN", message, pid === undefined ? {} : { pid });
  const holder = holderFrom(files.holder());
  if (holder === null || machine.vitality(holder) === "gone") {
    return refused(
      `another process has just taken ${folder} (a crew that starts, or one tick); try again.`,
    );
  }
  const { pid, kind, member } = holder;
  if (kind === "tick") {
    const who = `viv crew tick ${member ?? ""} (pid ${pid})`;
    return refused(
      `${who} has ${folder} for one tick, and will end with that; try again then.`,
      pid,
    );
  }
  const todo = "stop it with: viv crew stop, or choose another --state";
  return refused(`a ${kind} runs already with the state in ${folder} (pid ${pid}); ${todo}.`, pid);
}
