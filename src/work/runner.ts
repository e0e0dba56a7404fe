import { isName } from "../base/names.ts";
import { isTransient, type MachineRetry, Unrecorded } from "../platform/machine-retry.ts";
import type { Finished, HandlerCommand, RunningHandler } from "../platform/processes/handlers.ts";
import type { Store } from "../queue/store.ts";
import type { AttemptSettings } from "./attempt.ts";
import type { AttemptContext, Place } from "./place.ts";

/**
 * Runs the programs of an attempt, one after the other: in its place and sandbox, noted so that
 * others can end it, until the whole process tree is gone.
 */
export interface Execution
  extends Omit<
    HandlerCommand,
    "argv" | "cwd" | "env" | "claim" | "logBytes" | "killAfterMs" | "noise" | "pace"
  > {
  /** The first line of its log. */
  head?: string;
  /** Its start is tried without limit, because the work is done already. */
  isProof?: boolean;
  /** Paths that a sandbox shows besides. */
  reads?: readonly string[];
  noise?: string | null;
}

type Limits = Pick<AttemptSettings, "killAfterMs" | "logBytes">;

/** What it needs to know of an attempt. Other work on a task has notes of its own. */
export interface RunnerContext extends Omit<AttemptContext, "store"> {
  store: Pick<Store, "folder" | "claimMark" | "noteProcess" | "forgetProcess">;
}

export class Runner {
  readonly #context: RunnerContext;
  readonly #retry: MachineRetry;
  readonly #settings: Limits;
  #running: RunningHandler | null = null;
  #stopped: string | null = null;

  constructor(context: RunnerContext, settings: Limits) {
    this.#context = context;
    this.#retry = context.retry;
    this.#settings = settings;
  }

  /** Why nothing more may run; null while it may. */
  get stopped(): string | null {
    return this.#stopped;
  }

  /** Ends the running program with its whole tree, and starts no other. */
  stop(why: string): void {
    this.#stopped ??= why;
    this.#retry.stop();
    void this.#running?.stop(why);
  }

  /** Ends only the running program, without a grace. */
  endNow(why: string): void {
    void this.#running?.stop(why, true);
  }

  note(text: string): void {
    this.#running?.note(text);
  }

  async execute(place: Place, argv: readonly string[], how: Execution): Promise<Finished> {
    const tries = how.isProof ? Number.POSITIVE_INFINITY : undefined;
    try {
      const running = await this.#retry.briefly(() => this.#start(place, argv, how), tries);
      return running === null ? notStarted(this.#stopped ?? "") : await this.#follow(running, how);
    } catch (error) {
      if (this.#stopped !== null && isTransient(error)) return notStarted(this.#stopped);
      if (error instanceof CannotStart) return error.finished;
      throw error;
    }
  }

  /** Null when it was stopped meanwhile. */
  async #start(
    place: Place,
    argv: readonly string[],
    how: Execution,
  ): Promise<RunningHandler | null> {
    const { ref, store, host } = this.#context;
    const { handlers } = host;
    const command = await this.#confined(place, argv, how);
    await handlers.ready?.();
    if (this.#stopped !== null) return null;
    const claim = store.claimMark(ref);
    // Before it starts, so that others can find it by its mark even if this process is killed; and
    // again with its number, which also finds processes that lost the mark.
    await store.noteProcess(ref, { pid: 0, started: "0", claim });
    const { killAfterMs, logBytes } = this.#settings;
    const noise = how.noise || undefined;
    const { cwd, env } = place;
    const request = { ...how, argv: command, cwd, env, claim, noise, logBytes, killAfterMs };
    const running = handlers.start(request);
    const finished = running.ref === null ? await running.finished : undefined;
    if (finished?.cause === "unstartable" && isTransient({ code: finished.code })) {
      throw new CannotStart(finished);
    }
    return running;
  }

  get #isConfined(): boolean {
    return this.#context.route.sandbox.length > 0;
  }

  /** A sandbox shows of the run: its own files, the task, and the artifacts of its dependencies. */
  async #confined(
    place: Place,
    argv: readonly string[],
    how: Execution,
  ): Promise<readonly string[]> {
    const { claim, route, host, store } = this.#context;
    if (!this.#isConfined) return argv;
    const before = claim.task.depends_on.filter(isName);
    const { writes, reads } = host.artifacts.enter(this.#context.id, before);
    return host.sandboxed(argv, {
      restrictions: route.sandbox,
      runDir: store.folder,
      workspace: place.workspace,
      artifacts: writes,
      hidden: [],
      reads: [
        ...reads,
        ...(place.claimFile ? [place.claimFile] : []),
        ...(place.reads ?? []),
        ...(how.reads ?? []),
      ],
      shows: place.shows,
      cwd: place.cwd,
    });
  }

  async #follow(running: RunningHandler, { head }: Execution): Promise<Finished> {
    this.#running = running;
    if (head !== undefined) running.note(`${head}\n`);
    let lost: unknown;
    const ended = new AbortController();
    const { signal: over } = ended;
    const { id, ref, store, host, claim } = this.#context;
    const noteNumber = async () => {
      if (over.aborted || running.ref === null) return;
      const { pid, started } = running.ref;
      await store.noteProcess(ref, { pid, started, claim: store.claimMark(ref) });
    };
    this.#retry.untilDone(noteNumber, { over }).catch((error) => {
      if (over.aborted || error instanceof Unrecorded) return; // it ends without one
      // The claim is lost: then it must not run.
      lost = error;
      void running.stop("the claim is gone");
    });
    if (this.#stopped !== null) void running.stop(this.#stopped);
    const finished = await running.finished;
    ended.abort();
    this.#running = null;
    if (this.#isConfined) await this.#retry.untilDone(() => host.artifacts.leave(id));
    if (lost !== undefined) throw lost;
    // Processes that could not be ended stay noted: `viv retry` waits for them.
    if (finished.survivors.length === 0) {
      await this.#retry.untilDone(() => store.forgetProcess(id, claim.token));
    }
    return finished;
  }
}

class CannotStart extends Error {
  readonly finished: Finished;
  readonly code: string | undefined;

  constructor(finished: Finished) {
    super(finished.error ?? "it cannot be started");
    this.finished = finished;
    this.code = finished.code;
  }
}

function notStarted(why: string): Finished {
  const nothing = { exit: null, signal: null, durationMs: 0, tail: "", dropped: 0, survivors: [] };
  return { cause: "stopped", why, ...nothing };
}
