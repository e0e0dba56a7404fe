import { resolve } from "node:path";
import type { Config } from "../base/section.ts";
import { formatSize } from "../base/size.ts";
import { hasWorkspaces, limitsSection, type Route, routesSection } from "./config-route.ts";
import { heldUntil, routeMark, type SetupFailure } from "./workspaces/setup-failures.ts";
import type { WorkspaceUse } from "./workspaces/use.ts";

/**
 * Types that are not claimed for now, because of their workspaces: there is no room for more of them,
 * or their set-up keeps failing.
 */
export interface HeldType {
  why: "no_space" | "setup_failed";
  /** Without amounts that change, so that a worker says it once. */
  text: string;
  /** With them. */
  detail: string;
  /** When to look again. */
  until: number;
  command: string;
  /** The task whose set-up failed at last. */
  task?: string;
}

export interface SpaceLimits {
  workspaceBytes?: number;
  freeBytes?: number;
}

const LOOK_AGAIN_MS = 5_000;
const VALID_MS = 1_000;
const FLOOR = { bytes: 1e9, share: 0.05 };

/** Null while there is room. Without a limit of its own, a disk keeps 1 GB free, or 5 % of a small one. */
export function whyNoSpace(
  { used, free, size }: ReturnType<WorkspaceUse["space"]>,
  { workspaceBytes, freeBytes }: SpaceLimits,
): { text: string; detail: string } | null {
  if (workspaceBytes !== undefined && used >= workspaceBytes) {
    const text = `workspaces take up what [limits] workspaces allows (${formatSize(workspaceBytes)})`;
    return { text, detail: `${text}: ${formatSize(used)}` };
  }
  if (free === null || size === null) return null;
  const floor = freeBytes ?? Math.min(FLOOR.bytes, size * FLOOR.share);
  if (free >= floor) return null;
  const text = `the disk of the workspaces has less than ${formatSize(floor)} left ([limits] free_disk)`;
  return { text, detail: `${text}: ${formatSize(free)}` };
}

interface HeldBackOptions {
  use(): Promise<WorkspaceUse>;
  /** By type; `default` is for every type that has none. */
  routes: ReadonlyMap<string, Route>;
  /** Of viv.toml. */
  folder: string;
  limits: SpaceLimits;
  now(): number;
}

/** As this viv.toml has it; null when none of its routes has workspaces. */
export function heldBackIn(
  config: Config | undefined,
  now: () => number,
  use: () => Promise<WorkspaceUse>,
): HeldBack | null {
  if (!hasWorkspaces(config)) return null;
  const limits = config.section(limitsSection);
  const routes = config.section(routesSection);
  return new HeldBack({ use, routes, folder: config.folder, limits, now });
}

export class HeldBack {
  readonly #options: HeldBackOptions;
  #held = new Map<string, HeldType>();
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: HeldBackOptions) {
    this.#options = options;
  }

  /** Before a claim. A hold is looked at once a second at most: that may take git, and many files. */
  async refresh(): Promise<void> {
    const { now, limits, routes } = this.#options;
    const at = now();
    if (this.#held.size > 0 && at - this.#readAt < VALID_MS && at >= this.#readAt) return;
    const use = await this.#options.use();
    if (this.#readAt === Number.NEGATIVE_INFINITY && limits.workspaceBytes !== undefined) {
      void use.measureMissing().catch(() => {}); // what is not measured counts for nothing
    }
    this.#readAt = at;
    const held = new Map<string, HeldType>();
    const full = whyNoSpace(use.space(limits.workspaceBytes), limits);
    for (const [type, route] of routes) {
      if (route.workspace === "none") continue;
      const space = full && {
        ...{ why: "no_space" as const, until: at + LOOK_AGAIN_MS, command: "viv workspaces gc" },
        text: `${full.text}; to free some: viv workspaces gc`,
        detail: full.detail,
      };
      const one = space ?? (await this.#setupOf(use, route, at));
      if (one) held.set(type, one);
    }
    this.#held = held;
  }

  /** By the types of the routes. */
  get all(): ReadonlyMap<string, HeldType> {
    return this.#held;
  }

  /** Null as a type: all that have no route of their own. */
  of(type: string | null): HeldType | null {
    const name = type !== null && this.#options.routes.has(type) ? type : "default";
    return this.#held.get(name) ?? null;
  }

  async #setupOf(use: WorkspaceUse, route: Route, now: number): Promise<HeldType | null> {
    const { folder } = this.#options;
    const failure = use.failureOf(route.type);
    if (failure === null || failure.until === null) return null;
    const commit = route.repository
      ? await use.baseOf(resolve(folder, route.repository), route.base)
      : null;
    const until = heldUntil(failure, { route: routeMark(route), commit, now });
    return until === null ? null : describeHold(failure, until);
  }
}

export function describeHold(failure: SetupFailure, until: number): HeldType {
  const { type, failures, task, note } = failure;
  const what = `the set-up of [handlers.${type}] failed ${failures} times in a row, at last for ${task}: ${note}`;
  const when = `tried again at ${new Date(until).toISOString().slice(0, 19)}Z, or when the route or its base changes`;
  const command = "viv workspaces retry";
  return {
    ...{ why: "setup_failed", until, command, task },
    text: `${what}; ${when}, or by: ${command}`,
    detail: `${what}; ${when}`,
  };
}
