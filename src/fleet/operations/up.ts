import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { flag, text } from "../../operation/fields.ts";
import { type Context, type Here, type Nothing, serve } from "../../operation/operation.ts";
import { type AgentsConfig, parseAgents } from "../agents.ts";
import type { UpEvent } from "../events.ts";
import { programPort, type UpHost, upPort } from "../ports.ts";
import { UpService } from "../service.ts";

export type { UpEvent } from "../events.ts";
export type { UpHost } from "../ports.ts";

export const upInput = z.strictObject({
  config: text("who lives there (default ./agents.toml)"),
  drain: flag("end when nothing is left that its workers could do"),
});

export type UpInput = z.output<typeof upInput>;

/** The agents of an agents.toml around their pit, until they are stopped or have drained. */
export function upStream(context: Context, given: UpInput) {
  return serve<UpEvent, Nothing>(context, async (emit) => {
    const service = await upFor(context, given, emit);
    return {
      stop: () => service.stop(),
      stopNow: () => service.stopNow(),
      run: async () => {
        if (context.signal.aborted) return {};
        // Also when all are parked: viv status -c must find it there, and why.
        const alive = setInterval(() => {}, 60_000);
        try {
          await service.run();
        } finally {
          clearInterval(alive);
        }
        return {};
      },
    };
  });
}

/** The service that these flags describe. `run()` it, `stop()` it. */
export async function upFor(
  context: Context,
  given: UpInput,
  tell: (event: UpEvent) => void,
): Promise<UpService> {
  const { here, host } = await surroundings(context);
  const hint = given.config === undefined ? CREW_HINT : "";
  const config = await readAgents(given.config ?? "agents.toml", here, host, hint);
  assertPit(config, here, host);
  const drain = given.drain === true;
  if (drain && !config.agents.some(({ worker }) => worker)) {
    const message = `no agent in ${config.file} works on food, so that --drain would end at once.`;
    throw new VivError("USAGE", message);
  }
  const env = Object.entries(here.env).filter(
    (one): one is [string, string] => one[1] !== undefined,
  );
  const { node, viv } = await context.use(programPort);
  const around = { viv: [node, viv], env: Object.fromEntries(env), drain };
  return new UpService(config, around, host, tell);
}

const CREW_HINT = "; for a crew: viv crew up crew.org (or WB_CREW_DEF, or [crew] in viv.toml)";

export async function surroundings(context: Context): Promise<{ here: Here; host: UpHost }> {
  return { here: context.here, host: await context.use(upPort) };
}

export async function readAgents(
  path: string,
  here: Here,
  host: UpHost,
  hint = "",
): Promise<AgentsConfig> {
  const home = here.env.HOME;
  const isAtHome = home !== undefined && path.startsWith("~/");
  const file = isAtHome ? join(home, path.slice(2)) : resolve(here.cwd, path);
  return parseAgents(textOf(file, host, hint), file);
}

function textOf(file: string, host: UpHost, hint: string): string {
  try {
    return host.readText(file);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const message = isMissing
      ? `there is no ${file}; write it, or say where it is with: -c FILE${hint}`
      : `cannot read ${file}: ${(cause as Error).message}`;
    throw new VivError("INVALID", message, {}, { cause });
  }
}

function assertPit({ file, folder, pit }: AgentsConfig, { cwd }: Here, host: UpHost): void {
  if (["food", "claimed"].every((name) => host.isFolder(join(pit.path, name)))) return;
  const path = folder === cwd ? pit.asWritten : pit.path;
  const what = host.isFolder(pit.path) ? "is not a pit" : "is not there";
  throw new VivError(
    "RUN_NOT_FOUND",
    `${file}: the pit ${pit.path} ${what}; make it with: viv pit init ${path}`,
    { path: pit.path },
  );
}
