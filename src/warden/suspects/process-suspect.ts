import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Machine } from "../../base/clock.ts";
import { quoted } from "../../base/text.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { explained, readSmall } from "../../platform/files/state-files.ts";
import { sizesOf, watchSizes } from "../../platform/files/watch.ts";
import { readProcess, TICKS_PER_SECOND } from "../../platform/processes/proc-fs.ts";
import type { AskedPrograms, SeenProcess } from "../dance.ts";
import { isAnswerOf, type Question } from "../question.ts";
import type { WardenFiles } from "../warden-files.ts";
import type { BoundProcess, Warrant } from "../warrant.ts";
import { workBelow } from "./child-work.ts";
import { programId, sharedDaemons, ticksNow } from "./foreground-programs.ts";
import type { Asked, Ended, EndOptions, Found, Look, Missing, Suspect, Work } from "./suspect.ts";
import { endTargetTree, seeTree, type TreeOf, whyNotNow, whyNotOurs } from "./target-tree.ts";

export interface ProcessOptions {
  machine: Machine;
  files: WardenFiles;
}

interface ProcessTarget {
  warrant: Warrant;
  /** Null: by the number in the warrant. */
  bound: BoundProcess | null;
  /** Files that grow when it makes progress. */
  watch: readonly string[];
  /** More of them: a worker writes its next task to another log. */
  watchNow?(): Promise<readonly string[]>;
  /** Where it looks for a question. */
  questionLink?: string;
}

type BoundNow = { is: "there"; bound: BoundProcess } | Missing;

/** The identity of the process that has this number now. */
export function bindPid(pid: string | number, machine: Machine): BoundNow {
  const number = Number(pid);
  if (!/^[1-9]\d{0,9}$/.test(String(pid))) {
    return { is: "unknown", why: `${JSON.stringify(String(pid))} is not the number of a process` };
  }
  if (number === 1) return { is: "unknown", why: "process 1 is the machine's own" };
  const found = readProcess(number);
  if (found === "hidden") return { is: "unknown", why: "this process may not be looked at" };
  if (found === "gone" || found.isDead) return { is: "gone", why: "there is no such process" };
  if (found.isThread) return { is: "unknown", why: "it is a thread of another process" };
  if (!found.hasMemory) return { is: "unknown", why: "it is a process of the kernel" };
  const { host, boot } = machine.self();
  const started = String(found.started);
  return { is: "there", bound: { is: "process", host, boot, pid: number, started, claim: "" } };
}

export function findProcessSuspect(target: ProcessTarget, options: ProcessOptions): Found {
  const { warrant, bound: known } = target;
  const now = known
    ? { is: "there" as const, bound: known }
    : boundBefore(warrant, options.machine);
  if (now.is !== "there") return now;
  const { bound } = now;
  const missing = whyMissing(bound, options.machine);
  if (missing !== null) return missing;
  const suspect = new ProcessSuspect({ ...target, bound }, options);
  const why = whyNotOurs(suspect.tree([]));
  return why === null ? { is: "there", suspect } : { is: "unknown", why };
}

/** By its number alone; so it must have been there when the warrant was filed. */
function boundBefore(warrant: Warrant, machine: Machine): BoundNow {
  const now = bindPid(warrant.target, machine);
  if (now.is !== "there") return now;
  const age = machine.clock.uptime() - Number(now.bound.started) / TICKS_PER_SECOND;
  const warrantAge = (machine.clock.now() - Date.parse(warrant.filed_at)) / 1000;
  if (age + CLOCKS_DIFFER_BY_S >= warrantAge) return now;
  return { is: "unknown", why: "the process is younger than the warrant" };
}

/** Starts are in whole ticks, and a file's time is a few milliseconds old. */
const CLOCKS_DIFFER_BY_S = 0.05;

function whyMissing(bound: BoundProcess, machine: Machine): Missing | null {
  const self = machine.self();
  if (bound.host !== self.host) {
    return { is: "unknown", why: `it is a process of another machine: ${bound.host}` };
  }
  if (bound.pid <= 1) return { is: "unknown", why: `${bound.pid} is not a process to be ended` };
  const found = readProcess(bound.pid);
  if (found === "hidden") return { is: "unknown", why: "this process may not be looked at" };
  const isFree = found === "gone" || found.isThread;
  if (isFree) return { is: "gone", why: "the process has ended" };
  const isSame = bound.boot === self.boot && String(found.started) === bound.started;
  if (!isSame) return { is: "unknown", why: "the number was given to another process" };
  return found.isDead ? { is: "gone", why: "the process has ended" } : null;
}

const LONGEST_QUESTION = 64 * 1024;

/** A link that leads nowhere as soon as the question is removed. */
function linkTo(question: string, at: string): void {
  const hidden = join(dirname(at), `.${basename(at)}.${randomBytes(4).toString("hex")}`);
  try {
    symlinkSync(question, hidden);
    renameSync(hidden, at);
  } catch {
    rmSync(hidden, { force: true }); // its folder is gone, or full: the question is where it was
  }
}

/** It has no known terminal: the question is a file, and `viv alive` answers it. */
class ProcessSuspect implements Suspect {
  readonly bound: BoundProcess;
  readonly #target: ProcessTarget;
  readonly #options: ProcessOptions;
  readonly #questionFile: string;
  #watch: readonly string[];
  readonly #nonces: string[] = [];
  #endWatch: () => void = () => {};

  constructor(target: ProcessTarget & { bound: BoundProcess }, options: ProcessOptions) {
    const { files } = options;
    const { id } = target.warrant;
    this.bound = target.bound;
    this.#target = target;
    this.#options = options;
    const dance = files.dances().find(({ warrant }) => warrant.id === id);
    this.#questionFile = files.questionFile(dance?.id ?? id);
    this.#watch = target.watch;
  }

  async look(): Promise<Look> {
    const { machine, files } = this.#options;
    const missing = whyMissing(this.bound, machine);
    if (missing !== null) return missing;
    this.#watch = [...new Set([...this.#watch, ...((await this.#target.watchNow?.()) ?? [])])];
    const answers = [...this.#nonces, ...this.#askedBefore()].filter((nonce) =>
      isAnswerOf(files.answered(nonce), nonce, this.bound),
    );
    return { is: "there", screen: [], files: sizesOf(this.#watch), answers };
  }

  async programs(): Promise<AskedPrograms> {
    const root = programId(this.bound.pid);
    const pane = { pane: "", is: "agent" as const };
    const panes = root === null ? [] : [{ ...pane, root, programs: [root] }];
    return { at: ticksNow(), panes };
  }

  /** The same file with the same text, however often. */
  async ask({ nonce, lines }: Question): Promise<Asked> {
    if (!this.#nonces.includes(nonce)) this.#nonces.push(nonce);
    const { machine, files } = this.#options;
    const missing = whyMissing(this.bound, machine);
    if (missing !== null) return missing;
    const path = this.#questionFile;
    const command = `viv alive ${nonce} --state-dir ${quoted(files.folder)}`;
    explained(dirname(path), () => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      replaceFileUnsynced(path, `${[...lines, `To answer, run: ${command}`].join("\n")}\n`);
    });
    if (this.#target.questionLink !== undefined) linkTo(path, this.#target.questionLink);
    return { is: "asked", channel: path };
  }

  work(since: number): Promise<Work> {
    return workBelow(this.tree([]), (pid) => pid === this.bound.pid, since);
  }

  watch(act: () => void): void {
    this.#endWatch();
    this.#endWatch = watchSizes(this.#watch, act);
  }

  tree(known: readonly SeenProcess[]): SeenProcess[] {
    return seeTree(this.#treeOf(), known);
  }

  async end(known: readonly SeenProcess[], options: EndOptions): Promise<Ended> {
    const { isResumed } = options;
    const missing = whyMissing(this.bound, this.#options.machine);
    const check = () =>
      missing?.is === "unknown"
        ? missing.why
        : (whyNotOurs(this.tree(known)) ?? (isResumed ? null : this.#whyOther(options)));
    const why = isResumed ? check() : whyNotNow(check);
    if (why !== null) return { exit: [], survivors: [], unknown: why };
    return endTargetTree(() => this.#treeOf(), known, options);
  }

  close(): void {
    this.#endWatch();
  }

  /** It still has its number, but is another program than the one that was asked (exec). */
  #whyOther({ asked }: EndOptions): string | null {
    const then = asked?.panes[0]?.root;
    const now = programId(this.bound.pid);
    if (now === null || then?.image === now.image) return null;
    return then === undefined
      ? "not_asked: it is not known which program the question was put to"
      : "not_asked: it became another program after it was asked";
  }

  /** By an earlier warden: its question is still there. */
  #askedBefore(): string[] {
    const text = readSmall(this.#questionFile, LONGEST_QUESTION) ?? "";
    const nonce = /^To answer, run: viv alive (\S+)/m.exec(text)?.[1];
    return nonce === undefined || this.#nonces.includes(nonce) ? [] : [nonce];
  }

  #treeOf(): TreeOf {
    const { pid, started, claim } = this.bound;
    const roots = [{ pid, started }];
    const marks = claim === "" ? [] : [[`VIV_CLAIM=${claim}`]];
    const shared = sharedDaemons().filter((one) => one !== pid);
    // A worker loses nothing by being killed; but it would record its handlers' end as failures.
    const first = this.#target.warrant.kind === "worker" ? roots : undefined;
    return { roots, marks, shared, first };
  }
}
