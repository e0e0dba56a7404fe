import { isVivError, VivError } from "../base/errors.ts";
import type { Config } from "../base/section.ts";
import { runSection } from "../queue/config-run.ts";
import { routeProblems } from "./check-routes.ts";
import { routesSection } from "./config-route.ts";
import type { ConfigRead, RouteHost } from "./host.ts";
import { badEdit, heldRoute, remarkOf } from "./remark.ts";
import type { Worker } from "./worker.ts";
import type { WorkerEvent, WorkerOptions } from "./worker-options.ts";

/** A route that cannot work is looked at again after so long, while it is held back. */
const LOOK_AGAIN_MS = 5_000;

/** Why routes are held back, by their type. */
export type HeldRoutes = ReadonlyMap<string, string>;

/**
 * Lets a running worker follow its viv.toml. The settings count from the next claim on. A bad edit
 * changes nothing: it is told once. A route that would fail every task is held back, not failed, until it
 * is repaired. The heartbeats carry both for as long as they last.
 */
export class Reload {
  #config: Config;
  #held: HeldRoutes = new Map();
  /** What is wrong with the last edit. */
  #problem: string | null = null;
  #lookAt = 0;
  readonly #host: RouteHost;
  readonly #now: () => number;
  readonly #emit: (event: WorkerEvent) => void;
  readonly #remark: (text: string) => void;

  constructor(
    config: Config,
    host: RouteHost,
    {
      now,
      emit,
      remark,
    }: {
      now: () => number;
      emit: (event: WorkerEvent) => void;
      remark: (text: string) => void;
    },
  ) {
    this.#config = config;
    this.#host = host;
    this.#now = now;
    this.#emit = emit;
    this.#remark = remark;
  }

  /** Why no task of this type is claimed; null: one without a route of its own. */
  readonly heldBack = (type: string | null): string | null => {
    const routes = this.#config.section(routesSection);
    const route = type !== null && routes.has(type) ? type : "default";
    return this.#held.get(route) ?? null;
  };

  get isAny(): boolean {
    return this.#held.size > 0;
  }

  /** Before a claim: has a route that was held back been repaired? */
  async lookAgain(): Promise<void> {
    if (this.#held.size === 0 || this.#now() < this.#lookAt) return;
    await this.#check(this.#config);
    this.#tell();
  }

  #tell(): void {
    const bad = this.#problem === null ? [] : [badEdit(this.#problem)];
    this.#remark(remarkOf([...bad, ...this.#held.values()]));
  }

  /** `optionsFor` throws INVALID or USAGE when the worker could not run with it. */
  async take(
    read: ConfigRead,
    worker: Worker,
    optionsFor: (config: Config) => WorkerOptions,
  ): Promise<void> {
    if ("problem" in read) return this.#refuse(read.problem);
    const { config } = read;
    try {
      const options = optionsFor(config);
      await this.#check(config);
      const notes = notReloaded(this.#config, config);
      this.#config = config;
      this.#problem = null;
      this.#tell();
      worker.update(options);
      this.#emit({ kind: "reloaded", file: config.file, notes });
    } catch (error) {
      if (!isVivError(error, "INVALID") && !isVivError(error, "USAGE")) throw error;
      this.#refuse(error.message);
    }
  }

  #refuse(problem: string): void {
    this.#problem = problem;
    this.#tell();
    const message = `${problem}\nthe last good viv.toml still counts; see: viv config check`;
    this.#emit({ kind: "trouble", error: new VivError("INVALID", message) });
  }

  async #check(config: Config): Promise<void> {
    const held = new Map<string, string>();
    for (const [type, route] of config.section(routesSection)) {
      const [problem] = await routeProblems(route, config, this.#host);
      if (problem !== undefined) held.set(type, heldRoute(type, problem));
    }
    this.#lookAt = this.#now() + LOOK_AGAIN_MS;
    this.#held = held;
  }
}

/** Settings that count from the next start on. */
function notReloaded(before: Config, after: Config): string[] {
  const [old, now] = [before.section(runSection), after.section(runSection)];
  const keys = [
    ...(old.run === now.run ? [] : ["run"]),
    ...(old.onDependencyFailed === now.onDependencyFailed ? [] : ["on_dependency_failed"]),
  ];
  return keys.map((key) => `${key} counts from the next start of the worker on`);
}
