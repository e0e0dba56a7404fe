import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Machine } from "../../base/clock.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { explained, readSmall } from "../../platform/files/state-files.ts";
import { sizesOf, watchSizes } from "../../platform/files/watch.ts";
import { readProcess, TICKS_PER_SECOND } from "../../platform/processes/proc-fs.ts";
import type { AskedPrograms, SeenProcess } from "../dance.ts";
import type { Question } from "../question.ts";
import type { BoundProcess, Warrant } from "../warrant.ts";
import { programId, ticksNow } from "./asked-programs.ts";
import { workBelow } from "./child-work.ts";
import type { Asked, Ended, EndOptions, Found, Look, Suspect, Work } from "./suspect.ts";
import { endTargetTree, seeTree, type TreeOf, whyNotNow, whyNotOurs } from "./target-tree.ts";
import { sharedDaemons } from "./tmux-foreground.ts";

/**
 * A process, and the tree that it leads. It has no terminal that we know of: the question is a file,
 * and the answer comes beside it (`viv alive`).
 */
export interface ProcessOptions {
  machine: Machine;
  /** Where the question for the target of this warrant is written. */
  questionFile(warrantId: string): string;
  answered(nonce: string): boolean;
  /** The command that answers, as it is typed. */
  answerWith?(nonce: string): string;
}

export type BoundNow =
  | { is: "there"; bound: BoundProcess }
  | { is: "gone"; why: string }
  | { is: "unknown"; why: string };

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

export function findProcessSuspect(
  warrant: Warrant,
  bound: BoundProcess | null,
  watch: readonly string[],
  options: ProcessOptions,
  watchNow?: () => Promise<readonly string[]>,
  questionLink?: string,
): Found {
  const found: BoundNow = bound ? { is: "there", bound } : boundBefore(warrant, options.machine);
  if (found.is !== "there") return found;
  const state = stateOf(found.bound, options.machine);
  if (state.is !== "there") return state;
  const suspect = new ProcessSuspect(warrant, found.bound, watch, options, watchNow, questionLink);
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

/** Starts are told in whole ticks, and a file's time is a few milliseconds old. */
const CLOCKS_DIFFER_BY_S = 0.05;

type State = { is: "there" } | { is: "gone"; why: string } | { is: "unknown"; why: string };

function stateOf(bound: BoundProcess, machine: Machine): State {
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
  return found.isDead ? { is: "gone", why: "the process has ended" } : { is: "there" };
}

const LONGEST_QUESTION = 64 * 1024;

/** Whole, or not at all; and never through a link. */
function writeQuestion(path: string, text: string): void {
  const folder = dirname(path);
  explained(folder, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFileUnsynced(path, text);
  });
}

/** Where the suspect looks: a link, which leads nowhere as soon as the question is no more. */
function show(question: string, at: string): void {
  const hidden = join(dirname(at), `.${basename(at)}.${randomBytes(4).toString("hex")}`);
  try {
    symlinkSync(question, hidden);
    renameSync(hidden, at);
  } catch {
    rmSync(hidden, { force: true }); // its folder is gone, or full: the question is where it was
  }
}

class ProcessSuspect implements Suspect {
  readonly bound: BoundProcess;
  readonly #id: string;
  readonly #isWorker: boolean;
  readonly #options: ProcessOptions;
  /** A worker that goes on to its next task writes to another log. */
  readonly #watchNow: (() => Promise<readonly string[]>) | undefined;
  #watch: readonly string[];
  readonly #questionLink: string | undefined;
  readonly #nonces: string[] = [];
  #endWatch: () => void = () => {};

  constructor(
    { id, kind }: Warrant,
    bound: BoundProcess,
    watch: readonly string[],
    options: ProcessOptions,
    watchNow?: () => Promise<readonly string[]>,
    questionLink?: string,
  ) {
    this.#id = id;
    this.#isWorker = kind === "worker";
    this.bound = bound;
    this.#watch = watch;
    this.#options = options;
    this.#watchNow = watchNow;
    this.#questionLink = questionLink;
  }

  async look(): Promise<Look> {
    const state = stateOf(this.bound, this.#options.machine);
    if (state.is !== "there") return state;
    this.#watch = [...new Set([...this.#watch, ...((await this.#watchNow?.()) ?? [])])];
    const answers = [...this.#nonces, ...this.#askedBefore()].filter((nonce) =>
      this.#options.answered(nonce),
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
  async ask(question: Question): Promise<Asked> {
    if (!this.#nonces.includes(question.nonce)) this.#nonces.push(question.nonce);
    const state = stateOf(this.bound, this.#options.machine);
    if (state.is !== "there") return state;
    const path = this.#options.questionFile(this.#id);
    const { nonce, lines } = question;
    const command = this.#options.answerWith?.(nonce) ?? `viv alive ${nonce}`;
    writeQuestion(path, `${[...lines, `To answer, run: ${command}`].join("\n")}\n`);
    if (this.#questionLink !== undefined) show(path, this.#questionLink);
    return { is: "asked", channel: path, arrived: true, submitted: true };
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
    const state = stateOf(this.bound, this.#options.machine);
    const check = () =>
      state.is === "unknown"
        ? state.why
        : (whyNotOurs(this.tree(known)) ?? (isResumed ? null : this.#whyOther(options)));
    const why = isResumed ? check() : whyNotNow(check);
    if (why !== null) return { exit: [], survivors: [], unknown: why };
    return endTargetTree(() => this.#treeOf(), known, options);
  }

  close(): void {
    this.#endWatch();
  }

  /** It has its number still, but is another program than the one that was asked (exec). */
  #whyOther({ asked }: EndOptions): string | null {
    const then = asked?.panes[0]?.root;
    const now = programId(this.bound.pid);
    if (now === null || then?.image === now.image) return null;
    return then === undefined
      ? "not_asked: it is not known which program the question was put to"
      : "not_asked: it became another program after it was asked";
  }

  /** Asked by a warden before us: its question is still there. */
  #askedBefore(): string[] {
    const text = readSmall(this.#options.questionFile(this.#id), LONGEST_QUESTION) ?? "";
    const nonce = /^To answer, run: viv alive (\S+)/m.exec(text)?.[1];
    return nonce === undefined || this.#nonces.includes(nonce) ? [] : [nonce];
  }

  #treeOf(): TreeOf {
    const { pid, started, claim } = this.bound;
    const roots = [{ pid, started }];
    const marks = claim === "" ? [] : [[`VIV_CLAIM=${claim}`]];
    const shared = sharedDaemons().filter((one) => one !== pid);
    // A worker loses nothing by being killed; but it would write down its handlers' end as failures.
    return { roots, marks, shared, first: this.#isWorker ? roots : undefined };
  }
}
