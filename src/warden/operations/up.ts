import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { defineFreeOp, type FreeContext, type Here } from "../../operation/op.ts";
import { parseTimeouts, WARDEN_DEFAULTS, wardenSection } from "../config.ts";
import { fromConfig, poolFlag, poolFor, stateFlag, wardenPlace } from "./place.ts";
import type { UpWardenEvent, WardenOptions, WardenPorts, WardenService } from "./ports.ts";

export type { UpWardenEvent, WardenService } from "./ports.ts";

const input = z.strictObject({
  pool: poolFlag,
  timeouts: z.optional(
    z
      .array(z.string())
      .check(z.describe("for the attempts, in order (default 60s,120s,240s; one to five)")),
  ),
  state: stateFlag,
});

export type WardenUpInput = z.output<typeof input>;

export const wardenUp = defineFreeOp({
  name: "warden up",
  summary: "run the pool: its dogs take warrants, ask suspects, and pardon or end them",
  access: "none",
  input,
  output: z.object({}),
  run: async () => {
    throw new VivError("UNSUPPORTED", "the warden is started with the command line: viv warden up");
  },
});

/** The warden that these flags and this viv.toml describe. */
export async function wardenFor(
  context: FreeContext,
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
