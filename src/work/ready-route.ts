import type { Config } from "../base/section.ts";
import { readyEngine } from "../engines/named.ts";
import { type ReadyRoute, resolveHandler } from "./attempt.ts";
import { routeFor } from "./config-route.ts";
import type { WorkerHost } from "./host.ts";
import { inheritedEnv } from "./place.ts";

type Place = Pick<WorkerHost, "env" | "cwd">;

/** The route of a type in viv.toml, with paths and environment resolved. */
export function routeFromConfig(config: Config, host: Place, type: string): ReadyRoute | undefined {
  const route = routeFor(config, type);
  if (route === undefined) return undefined;
  const { folder } = config;
  const handler = resolveHandler(route.handler, folder);
  const env = inheritedEnv(host.env, route);
  const engine = route.engine && readyEngine(route.engine, handler, folder);
  return { ...route, handler, folder, env, setEnv: route.env, engine };
}

/** Without a viv.toml: here, with the whole environment, without workspace or sandbox. */
export function plainRoute({ env, cwd }: Place, handler: string[] = []): ReadyRoute {
  return {
    ...{ type: "default", handler, workspace: "none", sandbox: [], folder: cwd },
    env: inheritedEnv(env, { env: [], inheritsAll: true }),
  };
}
