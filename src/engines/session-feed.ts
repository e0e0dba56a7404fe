import type { Engine, EngineRequest, SessionLogs } from "./engine.ts";
import type { LogFollower, LogPlace } from "./session-logs.ts";

/** What following a vendor's own files needs of the machine. */
export interface LogPort {
  follow(place: LogPlace, onLine: (text: string, isPast: boolean) => void): LogFollower;
  /** What the program runs with, and a HOME that can be read from here. */
  env: Readonly<Record<string, string | undefined>>;
  /** How much of these files is of earlier runs. */
  onBegin?(position: Record<string, number>): void;
}

const EVERY_MS = 250;
/** So often it was looked for in vain, while the run called so many tools: then it is not there. */
const LOOKS = 40;
const TOOLS = 3;

/**
 * Reads what a vendor's program writes about its session while it runs. It looks when the run does
 * something, and now and then. A session that is gone on with has a past, which is not this run's.
 */
export class SessionFeed {
  readonly #engine: Engine;
  readonly #request: EngineRequest;
  readonly #port: LogPort;
  readonly #onLine: (text: string, isPast: boolean) => void;
  #session: string | null = null;
  #logs: SessionLogs | null = null;
  #follower: LogFollower | null = null;
  #looking: Promise<void> = Promise.resolve();
  #isAsked = false;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #tools = 0;

  constructor(
    engine: Engine,
    request: EngineRequest,
    port: LogPort,
    onLine: (text: string, isPast: boolean) => void,
  ) {
    this.#engine = engine;
    this.#request = request;
    this.#port = port;
    this.#onLine = onLine;
  }

  async begin(): Promise<void> {
    const { resume } = this.#request;
    if (resume === null) return;
    this.onSession(resume);
    await this.#follower?.skipPast();
    this.#port.onBegin?.(this.#follower?.position() ?? {});
  }

  /** As soon as it is known. One that was resumed may turn out to be another. */
  onSession(session: string): void {
    if (session === this.#session) return;
    this.#session = session;
    const { env } = this.#port;
    this.#logs = this.#engine.logs?.({ session, env, settings: this.#request.settings }) ?? null;
    this.#follower = this.#logs && this.#port.follow(this.#logs, this.#onLine);
    if (this.#follower === null) return;
    this.#timer ??= setInterval(() => {
      this.#looks++;
      this.look();
    }, EVERY_MS);
  }

  onTool(): void {
    this.#tools++;
    this.look();
  }

  /** At once, or once more after the look that is under way. */
  look(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#looking = this.#looking.then(() => {
      this.#isAsked = false;
      return this.#follower?.look();
    });
  }

  /** Nothing tells what it uses, and by now something would have to. */
  get isMissing(): boolean {
    if (this.#logs?.isOnlySource !== true || this.#follower?.isFound) return false;
    return this.#looks >= LOOKS && this.#tools >= TOOLS;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** All that was written by the end is told. */
  async end(): Promise<void> {
    this.close();
    await this.#looking;
    await this.#follower?.look(true);
  }
}
