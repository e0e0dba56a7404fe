import { isName } from "../base/names.ts";
import { isTransient, type MachineRetry, Unrecorded } from "../platform/machine-retry.ts";
import type { Finished, RunningHandler } from "../platform/processes/handlers.ts";
import type { AttemptContext, Place } from "./place.ts";

/**
 * Runs the programs of an attempt, one after the other: in its place, in its sandbox, noted so that
 * others can end it, until the whole process tree is gone.
 */
export interface Execution {
  stdin: string;
  logPath: string;
  timeoutMs: number | undefined;
  /** The first that its log says. */
  head?: string;
  /** Its start is waited for as long as it takes: what it follows on is done already. */
  isProof?: boolean;
  reads?: readonly string[];
  isSecret?: boolean;
  onStdout?: (chunk: Buffer) => void;
  onStderr?: (chunk: Buffer) => void;
  stdoutPath?: string;
  noise?: string | null;
}

export class Runner {
  readonly #context: AttemptContext;
  readonly #retry: MachineRetry;
  readonly #settings: { killAfterMs: number; logBytes: number };
  #running: RunningHandler | null = null;
  #stopped: string | null = null;

  constructor(
    context: AttemptContext,
    retry: MachineRetry,
    settings: { killAfterMs: number; logBytes: number },
  ) {
    this.#context = context;
    this.#retry = retry;
    this.#settings = settings;
  }

  /** Why nothing more is to be run; null while it may. */
  get stopped(): string | null {
    return this.#stopped;
  }

  /** Ends what runs, with its whole tree, and starts nothing more. */
  stop(why: string): void {
    this.#stopped ??= why;
    this.#retry.stop();
    void this.#running?.stop(why);
  }

  /** Ends only what runs now, without asking first. */
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

  /** Null when it was asked to stop while it was being prepared. */
  async #start(
    place: Place,
    argv: readonly string[],
    how: Execution,
  ): Promise<RunningHandler | null> {
    const { handlers } = this.#context.host;
    const command = await this.#confined(place, argv, how);
    await handlers.ready?.();
    if (this.#stopped !== null) return null;
    const claim = this.#mark;
    // Before it starts, so that from its first moment others can find it by its mark, whatever
    // becomes of us; and again with its number, which also finds what lost the mark.
    await this.#context.store.noteProcess(this.#ref, { pid: 0, started: "0", claim });
    const { onStdout, onStderr, stdoutPath, noise, timeoutMs } = how;
    const running = handlers.start({
      argv: command,
      cwd: place.cwd,
      env: place.env,
      stdin: how.stdin,
      claim,
      logPath: how.logPath,
      logBytes: this.#settings.logBytes,
      timeoutMs,
      isSecret: how.isSecret,
      onStdout,
      onStderr,
      stdoutPath,
      noise: noise || undefined,
      killAfterMs: this.#settings.killAfterMs,
    });
    if (running.ref === null) {
      const finished = await running.finished;
      const problem = new CannotStart(finished);
      if (finished.cause === "unstartable" && isTransient(problem)) throw problem;
    }
    return running;
  }

  get #isConfined(): boolean {
    return this.#context.route.sandbox.length > 0;
  }

  /** In a sandbox it sees of the run its own files, the task, and what those before it have made. */
  async #confined(
    place: Place,
    argv: readonly string[],
    how: Execution,
  ): Promise<readonly string[]> {
    const { claim, route, host, store } = this.#context;
    if (!this.#isConfined) return argv;
    const before = claim.task.depends_on.filter(isName);
    const { writes, reads } = host.artifacts.enter(this.#id, before);
    return host.sandboxed(argv, {
      restrictions: route.sandbox,
      runDir: store.folder,
      workspace: place.workspace,
      artifacts: writes,
      hidden: [],
      reads: [...reads, ...(place.claimFile ? [place.claimFile] : []), ...(how.reads ?? [])],
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
    const note = () => (over.aborted ? undefined : this.#noteNumber(running));
    this.#retry.untilDone(note, { over }).catch((error) => {
      if (over.aborted || error instanceof Unrecorded) return; // it ends without one
      // The claim is not ours any more: then it must not run.
      lost = error;
      void running.stop("the claim is gone");
    });
    if (this.#stopped !== null) void running.stop(this.#stopped);
    const finished = await running.finished;
    ended.abort();
    this.#running = null;
    if (this.#isConfined)
      await this.#retry.untilDone(() => this.#context.host.artifacts.leave(this.#id));
    if (lost !== undefined) throw lost;
    // What could not be ended stays noted: `viv retry` waits for it.
    if (finished.survivors.length === 0) {
      const { store, claim } = this.#context;
      await this.#retry.untilDone(() => store.forgetProcess(this.#id, claim.token));
    }
    return finished;
  }

  async #noteNumber({ ref }: RunningHandler): Promise<void> {
    if (ref === null) return;
    const { pid, started } = ref;
    await this.#context.store.noteProcess(this.#ref, { pid, started, claim: this.#mark });
  }

  get #id(): string {
    return this.#context.claim.task.task_id;
  }

  get #ref() {
    const { worker, token } = this.#context.claim;
    return { id: this.#id, worker, token };
  }

  get #mark(): string {
    const { claim, store } = this.#context;
    return store.claimMark({ id: this.#id, token: claim.token });
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
  return {
    ...{ cause: "stopped", why, exit: null, signal: null, durationMs: 0, tail: "", dropped: 0 },
    survivors: [],
  };
}
