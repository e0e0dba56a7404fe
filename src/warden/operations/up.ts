import * as z from "zod/mini";
import { events, list } from "../../operation/fields.ts";
import {
  type Context,
  defineStream,
  type Here,
  type Nothing,
  serve,
} from "../../operation/operation.ts";
import { parseTimeouts, WARDEN_DEFAULTS, wardenSection } from "../config.ts";
import { fromConfig, poolFlag, poolFor, stateFlag, wardenPlace } from "./place.ts";
import type { UpWardenEvent, WardenOptions, WardenPorts, WardenService } from "./ports.ts";

export type { UpWardenEvent, WardenService } from "./ports.ts";

const input = z.strictObject({
  pool: poolFlag,
  timeouts: list("for the attempts, in order (default 60s,120s,240s; one to five)"),
  state: stateFlag,
});

export type WardenUpInput = z.output<typeof input>;

export const wardenUp = defineStream({
  name: "warden up",
  summary: "run the pool: its dogs take warrants, ask suspects, and pardon or end them",
  input,
  event: events<UpWardenEvent>(),
  output: z.object({}),
  stream: wardenStream,
});

export function wardenStream(context: Context, given: WardenUpInput) {
  return serve<UpWardenEvent, Nothing>(context, async (emit) => {
    const warden = await wardenFor(context, given, emit);
    return {
      stop: () => warden.stop(),
      run: async () => {
        if (!context.signal.aborted) await warden.run();
        return {};
      },
    };
  });
}

/** The warden that these flags and this viv.toml describe. */
export async function wardenFor(
  context: Context,
  given: WardenUpInput,
  tell: (event: UpWardenEvent) => void,
): Promise<WardenService> {
  const { here, ports, files } = await wardenPlace(context, given.state);
  return ports.service(optionsFor(here, ports, given, files.folder), tell);
}

function optionsFor(
  here: Here,
  ports: WardenPorts,
  given: WardenUpInput,
  state: string,
): WardenOptions {
  const config = here.config?.section(wardenSection);
  const { breaker, killAfterMs, timeoutsMs, unasked, patienceMs } = WARDEN_DEFAULTS;
  const at = (path: string) => fromConfig(path, here);
  return {
    state,
    settings: {
      pool: poolFor(here, given.pool),
      timeoutsMs: given.timeouts
        ? parseTimeouts(given.timeouts, "--timeouts")
        : (config?.timeoutsMs ?? timeoutsMs),
      killAfterMs: config?.killAfterMs ?? killAfterMs,
      breaker: { ...breaker, ...config?.breaker },
      unasked: config?.unasked ?? unasked,
      patienceMs: config?.patienceMs ?? patienceMs,
    },
    ask: config?.ask ?? [],
    rules: {
      rules: config?.rules ?? {},
      runs: (config?.runs ?? []).map(at),
      crews: (config?.crews ?? []).map(at),
      sessions: config?.sessions ?? [],
      socket: config?.tmuxSocket === undefined ? null : at(config.tmuxSocket),
    },
    ...(config?.hook === undefined ? {} : { hook: config.hook }),
    ...(config?.webhook === undefined ? {} : { webhook: config.webhook }),
    cwd: here.config?.folder ?? here.cwd,
    budgetFor: (type) => (here.config ? ports.budgetFor(here.config, type) : null),
  };
}
