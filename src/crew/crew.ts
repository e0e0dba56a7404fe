import type { ClaimTree } from "../base/clock.ts";
import { messageOf, VivError } from "../base/errors.ts";
import type { Gate } from "../gate/gate.ts";
import type { ActivityServer } from "./activity.ts";
import type { MemberContext } from "./crew-ports.ts";
import { GateFile } from "./gate-file.ts";
import { RanFiles } from "./lifecycle.ts";
import type { Manifest, Member } from "./manifest.ts";
import { CrewMember, isSameEntry, type Pace } from "./member.ts";
import type { MemberStatus } from "./member-status.ts";
import { type CrewJson, type Holder, holderFrom, type KeeperSettings } from "./member-status.ts";
import { answerTo, unknownMember } from "./requests.ts";

export interface CrewOptions extends Pace {
  manifest: string;
  /** The singleton has no gate, and files without a suffix. */
  isSingleton: boolean;
  keeper?: KeeperSettings;
}

export interface CrewHost extends Omit<MemberContext, "ranFiles"> {
  gate: Gate | null;
  /** Null when another process has this state folder; else a check whether it is still ours. */
  take(): Promise<(() => boolean) | null>;
  /** Reads the manifest as it is now. Throws INVALID when it cannot. */
  readManifest(): Manifest;
  /** Calls back when the manifest's folder or the inbox may have changed. Returns the unsubscribe. */
  watch(act: () => void): () => void;
  /** Ends the run of a supervisor that died. Returns the pids that are still there. */
  endLeftover(tree: ClaimTree): Promise<number[]>;
  serve?(): Promise<ActivityServer | null>;
  /** Has git ignore the state folder. The added line and its file; null: no need. */
  hide?(): Promise<{ file: string; line: string } | null>;
}

/** The run of a supervisor that died. */
interface Leftover {
  key: string;
  status: MemberStatus;
  run: ClaimTree;
}

const LOOK_EVERY_MS = 1_000;
/** A manifest that was changed less than this ago may be half written. */
const SETTLES_MS = 100;
/** A command looks for its answer twenty times a second: an old one has no reader any more. */
const ANSWERS_KEPT_MS = 10 * 60_000;

/**
 * The supervisor of a crew. It starts and stops the members, passes on changes of the manifest and
 * requests from the inbox, and schedules nothing itself.
 */
export class Crew {
  readonly #settings: CrewOptions;
  readonly #host: CrewHost;
  readonly #gateFile: GateFile | null;
  readonly #context: MemberContext;
  readonly #members = new Map<string, CrewMember>();
  /** No longer in the manifest, but in a run that may finish. */
  readonly #leaving = new Map<string, CrewMember>();
  #entries = new Map<string, Member>();
  /** The manifest could not be used at the last look. */
  #isOutdated = false;
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

  constructor(settings: CrewOptions, host: CrewHost) {
    this.#settings = settings;
    this.#host = host;
    this.#context = { ...host, ranFiles: new RanFiles() };
    this.#gateFile = host.gate && new GateFile(host.gate, host);
  }

  /** Until it is stopped. Rejects when another supervisor has the state folder, or the manifest has no members. */
  async run(): Promise<void> {
    await this.take();
    const server = await this.#host.serve?.();
    try {
      await this.begin(server?.port);
      await this.#done;
      if (this.#lost) throw this.#lost;
      this.#host.emit({ kind: "finished" });
    } finally {
      await server?.close();
    }
  }

  /** Clocks and logs of a crew are no part of the repository that it works in. */
  async #hide(hide: NonNullable<CrewHost["hide"]>): Promise<void> {
    try {
      const added = await hide();
      if (!added) return;
      const text = `git ignores the crew's state from now on: ${added.line} was added to ${added.file}`;
      this.#host.emit({ kind: "log", text });
    } catch (error) {
      this.#warn(`git will list ${this.#host.files.folder}: ${(error as Error).message}`);
    }
  }

  /** Rejects when another process has the state folder. `member`: for one tick of that one. */
  async take(member?: string): Promise<void> {
    if (!this.#isOurs) this.own(await this.#host.take(), member);
  }

  /** The state folder is ours as long as `isOurs` returns true; null: another process has it. */
  own(isOurs: (() => boolean) | null, member?: string): void {
    if (isOurs === null) throw takenError(this.#host);
    this.#isOurs = isOurs;
    const supervisor = this.#settings.isSingleton ? "keeper" : "crew";
    const kind = member === undefined ? supervisor : "tick";
    const holder: Holder = { ...this.#host.machine.self(), kind, member };
    this.#host.files.writeHolder(holder);
  }

  /** Asynchronous only where git is asked, or runs of an earlier supervisor are left. */
  async begin(port?: number): Promise<void> {
    if (this.#stopping) return;
    const host = this.#host;
    const { manifest } = this.#settings;
    this.#stamp = host.stampOf([manifest]);
    this.#entries = this.#readEntries();
    // Not before: a crew that is refused changes nothing in the repository.
    if (host.hide) await this.#hide(host.hide);
    for (const left of this.#leftovers()) await this.#endLeftover(left);
    if (this.#stopping) return;
    // A stop request to an earlier crew must not stop this one.
    host.files.tidy();
    this.#port = port ?? null;
    this.#since = new Date(host.machine.clock.now()).toISOString();
    this.#writeCrew();
    const { pid } = host.machine.self();
    const members = [...this.#entries.keys()];
    host.emit({ kind: "up", pid, manifest, state: host.files.folder, members, port });
    for (const member of this.#entries.values()) this.#add(member).start(this.#settings);
    this.#gateFile?.write();
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

  /** One tick of one member; no other clock runs. */
  async tickAlone(name: string) {
    await this.take(name);
    this.#entries = this.#readEntries();
    for (const left of this.#leftovers()) await this.#endLeftover(left);
    this.#host.files.tidy();
    const entry = this.#entries.get(name);
    if (entry === undefined) throw unknownMember(name, this.#entries.keys());
    const member = this.#add(entry);
    try {
      const outcome = this.#stopping ? null : await member.tickNow();
      return { outcome, state: member.state, note: member.note };
    } finally {
      await member.stop();
    }
  }

  async #stop(): Promise<void> {
    this.#cancelLook();
    this.#unwatch();
    const running = this.#all().filter(({ isInRun }) => isInRun);
    this.#host.emit({ kind: "stopping", running: running.map(({ name }) => name) });
    await Promise.all(this.#all().map((member) => member.stop()));
    // Before it has begun, the files may be another crew's.
    if (this.#since !== "") {
      this.#gateFile?.write();
      this.#safely(() => this.#writeCrew(new Date(this.#host.machine.clock.now()).toISOString()));
    }
    this.#ended();
  }

  #all(): CrewMember[] {
    return [...this.#members.values(), ...this.#leaving.values()];
  }

  /** The members of the manifest, by name. Throws when there are none. */
  #readEntries(): Map<string, Member> {
    const { members, log, isOld } = this.#host.readManifest();
    if (isOld) this.#stamp = ""; // the file is looked at as if it had just changed
    for (const text of log) this.#host.emit({ kind: "log", text });
    if (members.length > 0) return new Map(members.map((member) => [member.name, member]));
    const message = `${this.#settings.manifest} has no member with a def; give one a :DEF:`;
    throw new VivError("INVALID", message);
  }

  #add(member: Member): CrewMember {
    const key = this.#settings.isSingleton ? "" : member.name;
    const one = new CrewMember(member, key, this.#context);
    this.#members.set(member.name, one);
    return one;
  }

  /** Ends the runs of an earlier supervisor. */
  async #endLeftover({ key, status, run }: Leftover): Promise<void> {
    const { files, machine, emit } = this.#host;
    const { host, boot } = machine.self();
    // On another machine nothing can be ended from here; after a reboot the pid is another process.
    const isOurs = run.host === host && run.boot === boot;
    try {
      const survivors = isOurs ? await this.#host.endLeftover(run) : [];
      const left = { run: survivors.length > 0 ? run : null, note: "its run was ended" };
      files.writeStatus(key, { ...status, ...left, state: "stopped" });
      if (isOurs) emit({ kind: "leftover", name: status.name, pid: run.pid, survivors });
    } catch (error) {
      this.#warn(error, key);
    }
  }

  #leftovers(): Leftover[] {
    const { files } = this.#host;
    return files.names().flatMap((key) => {
      try {
        const status = files.status(key);
        return status?.run ? [{ key, status, run: status.run }] : [];
      } catch (error) {
        this.#warn(error, key);
        return [];
      }
    });
  }

  #lookLater(): void {
    this.#cancelLook();
    this.#cancelLook = this.#host.timers.after(LOOK_EVERY_MS, () => {
      this.#look();
      if (!this.#stopping) this.#lookLater();
    });
  }

  /** Changes and requests. No error here may end the supervisor. */
  #look(): void {
    if (this.#stopping) return;
    if (this.#isOurs?.() === false) {
      this.#giveUp();
      return;
    }
    this.#safely(() => this.#readAgain());
    this.#safely(() => {
      for (const member of this.#members.values()) member.lookAgain();
    });
    this.#safely(() => {
      for (const { id, request } of this.#host.files.takeRequests()) void this.#answer(id, request);
    });
    this.#safely(() => this.#dropAnswers());
  }

  #safely(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#warn(error);
    }
  }

  /**
   * The folder was removed: another crew can start there at any moment without knowing our runs. So
   * they end with this supervisor, and nothing more is written there.
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
    const { machine, files } = this.#host;
    const at = machine.clock.uptime() * 1000;
    if (at - this.#droppedAt < ANSWERS_KEPT_MS) return;
    this.#droppedAt = at;
    files.dropAnswers(machine.clock.now() - ANSWERS_KEPT_MS);
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
    let entries: Map<string, Member>;
    try {
      entries = this.#readEntries();
    } catch (error) {
      // Half written, or broken: the crew goes on with the old one.
      this.#warn(`the manifest cannot be used as it is now: ${(error as Error).message}`);
      this.#isOutdated = true;
      return;
    }
    if (this.#isOutdated) {
      const note = "the manifest can be used again";
      this.#host.emit({ kind: "reloaded", name: "crew", note });
    }
    this.#isOutdated = false;
    this.#apply(entries);
  }

  #apply(entries: Map<string, Member>): void {
    for (const name of [...this.#members.keys()]) if (!entries.has(name)) this.#remove(name);
    const before = this.#entries;
    this.#entries = entries;
    let added = 0;
    for (const [name, member] of entries) {
      const known = this.#members.get(name);
      const was = before.get(name);
      if (known !== undefined) {
        const isSame = was !== undefined && isSameEntry(was, member);
        if (!isSame) this.#host.emit({ kind: "changed", name, note: "" });
        known.update(member);
      } else if (!this.#leaving.has(name)) this.#startAdded(member, added++);
      // A leaving one is added again when its run has ended.
    }
    this.#writeCrew();
  }

  /** `place`: among those that are added together, which start one stagger apart. */
  #startAdded(member: Member, place: number): void {
    this.#host.emit({ kind: "added", name: member.name, note: "" });
    this.#add(member).start(this.#settings, place);
  }

  #remove(name: string): void {
    const member = this.#members.get(name) as CrewMember;
    this.#members.delete(name);
    this.#host.emit({ kind: "removed", name, note: member.isInRun ? "its run may finish" : "" });
    this.#leaving.set(name, member);
    void member.stop().then(() => {
      this.#leaving.delete(name);
      if (this.#stopping) return;
      const entry = this.#entries.get(name);
      if (entry === undefined) this.#safely(() => this.#writeCrew());
      else this.#startAdded(entry, 0);
    });
  }

  async #answer(id: string, request: unknown): Promise<void> {
    const { gate, emit, files } = this.#host;
    const crew = { gate, emit, members: this.#members, stop: () => void this.stop() };
    try {
      files.answer(id, await answerTo(request, crew));
    } catch (error) {
      this.#warn(error); // the command times out by itself
    }
  }

  #writeCrew(ended?: string): void {
    const { machine, files } = this.#host;
    const { manifest, isSingleton, keeper } = this.#settings;
    // Removed members stay listed until their run ends.
    const names = new Set([...this.#entries.keys(), ...this.#leaving.keys()]);
    const crew: CrewJson = {
      ...machine.self(),
      ...{ manifest, singleton: isSingleton, members: [...names] },
      ...{ port: this.#port, since: this.#since },
      ...{ keeper: isSingleton ? keeper : undefined, ended },
    };
    files.writeJson("crew", crew);
  }

  #warn(error: unknown, name = "crew"): void {
    const message = messageOf(error);
    this.#host.emit({ kind: "trouble", name, message });
  }
}

function takenError({ files, machine }: CrewHost): VivError {
  const { folder } = files;
  const refused = (message: string, pid?: number) => new VivError("WORKER_TAKEN", message, { pid });
  const holder = holderFrom(files.holder());
  if (holder === null || machine.vitality(holder) === "gone") {
    return refused(
      `another process has just locked ${folder} (a crew that starts, or one tick); try again.`,
    );
  }
  const { pid, kind, member } = holder;
  if (kind === "tick") {
    const tick = `viv crew tick ${member ?? ""} (pid ${pid})`;
    return refused(`${tick} holds ${folder} until its tick ends; try again then.`, pid);
  }
  const todo = "stop it with: viv crew stop, or choose another --state-dir";
  return refused(`a ${kind} runs already with the state in ${folder} (pid ${pid}); ${todo}.`, pid);
}
