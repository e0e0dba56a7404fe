import { isVivError, VivError } from "../base/errors.ts";
import { quoted } from "../base/text.ts";
import { askGit, git, isAncestor } from "../platform/git/git.ts";
import type { ReadyRoute } from "../work/attempt.ts";
import { identity } from "../work/workspaces/commit.ts";
import { refBeside } from "../work/workspaces/record.ts";
import { commitOf, type Repository } from "../work/workspaces/worktree.ts";
import { type Candidate, waitsFor } from "./candidates.ts";
import { checkoutsOf, fastForward, forwardCommand, type Obstacle } from "./checkouts.ts";
import type { MergeSettings } from "./config.ts";
import { hasGuard } from "./hooks.ts";
import { type Landing, writeLanding } from "./landing.ts";
import { treeOf } from "./merge-commit.ts";
import type { ProofHost } from "./prove-merge.ts";
import { RightOfWay } from "./right-of-way.ts";
import { Scratch } from "./scratch.ts";
import type { SentBack, sendBack } from "./send-back.ts";
import type { Target } from "./target.ts";
import { advance, type LandingEvent } from "./transitions.ts";

/** What the queue needs of its surroundings. */
export interface MergeContext extends ProofHost {
  settings: MergeSettings;
  routeFor(type: string): ReadyRoute | undefined;
  sendBack: typeof sendBack;
  /** Opens pull requests, or pushes to those that are open; tells of each landing. */
  openPullRequests?(ids: readonly string[], tell: (landing: Landing) => void): Promise<void>;
  /** Tasks that a person has named: no rework has the right of way before them. */
  goAhead?: ReadonlySet<string>;
  /** Commits of targets that have failed `prove`, for a queue that makes many passes by itself. */
  redTips?: Set<string>;
  now(): number;
  onEvent?(event: MergeEvent): void;
}

export type MergeEvent =
  /** Another queue works on that repository. */
  | { kind: "waits"; repository: string }
  | { kind: "notice"; message: string }
  | { kind: "proves"; ids: readonly string[]; target: string }
  /** A landing has come to rest. */
  | { kind: "landing"; landing: Landing }
  | { kind: "trouble"; error: unknown; id?: string };

interface Commit {
  commit: string;
  tree: string;
}

/** A candidate, merged onto `from`. */
export interface Step {
  candidate: Candidate;
  from: string;
  to: string;
  /** Of `to`. */
  tree?: string;
}

/** One pass of the queue over one repository, under its lock. */
export class Session {
  readonly context: MergeContext;
  readonly repository: Repository;
  readonly target: Target;
  readonly scratch: Scratch;
  readonly signs: boolean;
  readonly identity: Readonly<Record<string, string>>;
  /** Where the next merge begins: the target's tip, or the last one that waits to be taken there. */
  top: Commit;
  /** Why nothing more can land now, though it is proven; and those that wait for that, in order. */
  obstacle: Obstacle | null = null;
  readonly chain = new Set<string>();
  readonly rightOfWay = new RightOfWay(this);
  /** Why a commit of the target fails the queue's proof by itself; null: it does not. */
  readonly provenTips = new Map<string, string | null>();
  readonly redTips: Set<string>;
  readonly #landings = new Map<string, Landing>();
  readonly #before = new Map<string, Landing | null>();
  readonly #held = new Set<Candidate>();
  #isGuarded: boolean | undefined;
  #recorded: Set<string> | null = null;

  private constructor(
    given: Pick<Session, "context" | "repository" | "target" | "scratch" | "signs" | "identity">,
    top: Commit,
  ) {
    ({
      context: this.context,
      repository: this.repository,
      target: this.target,
      scratch: this.scratch,
      signs: this.signs,
      identity: this.identity,
    } = given);
    this.top = top;
    this.redTips = this.context.redTips ?? new Set();
  }

  static async open(
    context: MergeContext,
    repository: Repository,
    target: Target,
  ): Promise<Session> {
    const { tip } = target;
    const scratch = await Scratch.open(context.store.folder, repository, tip);
    const top = { commit: tip, tree: await treeOf(tip, scratch.place) };
    const place = { cwd: repository.path };
    const question = ["config", "--type=bool", "--get", "commit.gpgsign"];
    const signs = (await askGit(question, place)).stdout.toString().trim() === "true";
    const given = { context, repository, target, scratch, signs };
    const who = await identity(place);
    return new Session({ ...given, identity: who }, top);
  }

  get isStopped(): boolean {
    return this.context.signal.aborted;
  }

  /** The landing of a candidate as it stands now. */
  of(candidate: Candidate): Landing {
    const known = this.#landings.get(candidate.id) ?? candidate.landing;
    if (!this.#before.has(candidate.id)) this.#before.set(candidate.id, known);
    if (known !== null) return known;
    const { id: task, branch, base, head } = candidate;
    return {
      ...{ task, state: "queued" as const, at: this.#now(), repository: this.repository.path },
      ...{ branch, base, head: head ?? base, target: this.target.branch },
      ...{ strategy: this.context.settings.strategy, reworks: 0 },
    };
  }

  #now(): string {
    return new Date(this.context.now()).toISOString();
  }

  move(
    candidate: Candidate,
    event: LandingEvent,
    told: Parameters<typeof advance>[3] = {},
    isSynced = false,
  ): Landing {
    const landing = advance(this.of(candidate), event, this.#now(), told);
    writeLanding(this.context.store.folder, landing, isSynced);
    this.#landings.set(landing.task, landing);
    return landing;
  }

  /** Leaves it as it is, in words; a line of the ledger only when that is news. */
  async hold(candidate: Candidate, reason: string, told: Partial<Landing> = {}): Promise<void> {
    const landing = this.move(candidate, "hold", { ...told, reason });
    this.#held.add(candidate);
    await this.#record("held", landing);
    this.tell(landing);
  }

  /**
   * Held because of that commit of the target: to prove it there again would end in the same way. Not
   * so in a new process: `prove` may be another one by now, or the machine repaired.
   */
  isHeldAt(candidate: Candidate, onto: string): boolean {
    const landing = this.of(candidate);
    const isSame = landing.from === onto && landing.to === undefined && this.redTips.has(onto);
    if (landing.state !== "held" || !isSame || this.context.goAhead?.has(candidate.id))
      return false;
    this.#held.add(candidate);
    this.tell(landing);
    return true;
  }

  /** Those that were held because of a commit of the target that has another one on top by now. */
  freed(): Candidate[] {
    const freed = [...this.#held].filter((candidate) => {
      const { from, to } = this.of(candidate);
      return from !== undefined && to === undefined && from !== this.top.commit;
    });
    for (const candidate of freed) this.#held.delete(candidate);
    return freed;
  }

  /** Sends the task back. Should that fail, its landing stays as it is and is tried again. */
  async sendBack(candidate: Candidate, landing: Landing, sent: SentBack): Promise<void> {
    const { store, settings } = this.context;
    await this.#record(sent.why === "red" ? "merge_red" : "conflict", landing);
    try {
      const now = await this.context.sendBack(store, landing, sent, settings.rework);
      this.#landings.set(now.task, now);
      this.tell(now);
    } catch (error) {
      this.context.onEvent?.({ kind: "trouble", error, id: candidate.id });
      this.tell(landing);
    }
  }

  async #record(event: "held" | "conflict" | "merge_red", landing: Landing): Promise<void> {
    const { task, reason: note, target, state } = landing;
    const before = this.#before.get(task);
    if (before?.state === state && before.reason === note) return;
    await this.context.store.append({ event, task, note, target });
  }

  tell(landing: Landing): void {
    this.context.onEvent?.({ kind: "landing", landing });
  }

  /**
   * The candidate has landed: the ledger says it once, then its file. `isNew`: the ledger cannot have
   * the line, because this process has just moved the target.
   */
  async finish(
    candidate: Candidate,
    event: "landed" | "found",
    { from, to, proof, reason }: Pick<Landing, "from" | "proof" | "reason"> & { to: string },
    isNew = false,
  ): Promise<void> {
    const { store } = this.context;
    const { target, strategy, repository } = this.of(candidate);
    if (isNew || !(await this.#isRecorded(candidate.id, to))) {
      const { branch, head } = candidate;
      const line = { task: candidate.id, commit: to, target, repository, strategy, branch, head };
      await store.append({ event: "landed", ...line, proof: proof ?? null });
      this.#recorded?.add(`${candidate.id} ${to}`);
    }
    const landing = this.move(candidate, event, { from, to, proof, reason });
    const before = this.#before.get(candidate.id);
    if (before?.state === "held") await this.release(before);
    this.tell(landing);
  }

  /** The ledger is long, and many may be found landed: it is read once. Only this queue adds to it. */
  async #isRecorded(task: string, commit: string): Promise<boolean> {
    if (this.#recorded === null) {
      this.#recorded = new Set();
      for await (const { event, task: one, commit: to } of this.context.store.ledger()) {
        if (event === "landed") this.#recorded.add(`${one} ${to}`);
      }
    }
    return this.#recorded.has(`${task} ${commit}`);
  }

  /** A commit that waits is referenced, so that git does not clear it away. */
  #refOf(landing: Landing): string {
    return refBeside("merge", landing, this.context.store.runId);
  }

  async retain(landing: Landing, commit: string): Promise<void> {
    await git(["update-ref", this.#refOf(landing), commit], { cwd: this.repository.path });
  }

  async release(landing: Landing): Promise<void> {
    await git(["update-ref", "-d", this.#refOf(landing)], { cwd: this.repository.path });
  }

  /** Why the candidate has to wait; see waitsFor. */
  async waitsFor(candidate: Candidate, merged: readonly Step[]): Promise<string | null> {
    const isBefore = (id: string) =>
      this.chain.has(id) || merged.some((step) => step.candidate.id === id);
    const known = (id: string) => this.#landings.get(id);
    const { store } = this.context;
    const dependency = await waitsFor(store, this.repository, candidate, isBefore, known);
    if (dependency !== null) return `waits for ${dependency}, which has not landed`;
    return this.rightOfWay.waitsFor(candidate);
  }

  /** Whether a branch has this commit. */
  async isIn(commit: string, branch: string): Promise<boolean> {
    const tip = await commitOf(this.repository, `refs/heads/${branch}`);
    return tip !== null && (await isAncestor(commit, tip, { cwd: this.repository.path }));
  }

  /** Begins anew at the target's tip. */
  async refresh(): Promise<void> {
    const { ref, branch } = this.target;
    const tip = await commitOf(this.repository, ref);
    if (tip === null) {
      throw new VivError("INVALID", `${branch} of ${this.repository.path} was removed.`);
    }
    this.target.tip = tip;
    this.top = { commit: tip, tree: await treeOf(tip, this.scratch.place) };
  }

  /**
   * The one step that changes what others see: the target moves from one commit to the other, or not
   * at all. "moved": it was elsewhere by then.
   */
  async moveTarget(from: string, to: string): Promise<"done" | "moved" | Obstacle> {
    const { branch, ref } = this.target;
    const [checkout, second] = await checkoutsOf(this.repository, branch);
    const update = `git -C ${quoted(this.repository.path)} update-ref ${ref}`;
    const command = (commit: string) =>
      checkout ? forwardCommand(checkout.path, commit) : `${update} ${commit}`;
    this.#isGuarded ??= branch.startsWith("viv/") ? false : await hasGuard(this.repository);
    if (this.#isGuarded) {
      const reason = `a reference-transaction hook guards ${branch}, and the queue runs no hooks`;
      return { reason, command };
    }
    if (checkout !== undefined) {
      const other = second && `${branch} is checked out in ${checkout.path} and in ${second.path}`;
      if (other) return { reason: other, command };
      const result = await fastForward(checkout, branch, { from, to });
      if (result !== null) return result;
    } else {
      const move = ["-c", "core.fsync=reference", "update-ref", "-m", "viv: land", ref, to, from];
      try {
        await git(move, { cwd: this.repository.path });
      } catch (error) {
        if ((await commitOf(this.repository, ref)) !== from) return "moved";
        if (!isVivError(error)) throw error;
        return {
          reason: `${branch} cannot be moved (${error.message.replace(/\.$/, "")})`,
          command,
        };
      }
    }
    this.target.tip = to;
    return "done";
  }
}
