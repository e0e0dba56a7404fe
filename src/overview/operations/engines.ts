import { resolve } from "node:path";
import * as z from "zod/mini";
import { isVivError } from "../../base/errors.ts";
import type { Config } from "../../base/section.ts";
import { ENGINE_NAMES, type EngineRoute } from "../../engines/config-engine.ts";
import type { Engine, EngineName } from "../../engines/engine.ts";
import { readyEngine } from "../../engines/named.ts";
import { defineOperation, definePort } from "../../operation/operation.ts";
import type { FoundProgram } from "../../platform/processes/programs.ts";
import { type Route, routesSection } from "../../work/config-route.ts";

/** What the machine knows about engines; main.ts hands in the real thing. */
export interface EnginePort {
  engine(name: EngineName): Promise<Engine>;
  probe(program: string): Promise<FoundProgram | null>;
}

export const enginesPort = definePort<EnginePort>("engines");

const route = z.object({
  type: z.string(),
  model: z.nullable(z.string()),
  account: z.nullable(z.string()),
  /** The exact command line; the prompt goes in on stdin where the vendor reads it there. */
  command: z.array(z.string()),
  problem: z.nullable(z.string()),
});

export const engines = defineOperation({
  name: "engines",
  summary: "installed engines, and the exact command each route would start",
  input: z.strictObject({}),
  output: z.object({
    engines: z.array(
      z.object({
        name: z.string(),
        binary: z.string(),
        path: z.nullable(z.string()),
        version: z.nullable(z.string()),
        routes: z.array(route),
      }),
    ),
  }),
  async run({ here, use }) {
    const { engine, probe } = await use(enginesPort);
    const { config } = here;
    const shown = ENGINE_NAMES.map(async (name) => {
      const one = await engine(name);
      const binary = binaryOf(one, config);
      const found = binary === "" ? null : await probe(binary);
      const routes = routesOf(name, config).map((each) => dryRun(one, each, config));
      return { name, binary, path: found?.path ?? null, version: found?.version ?? null, routes };
    });
    return { engines: await Promise.all(shown) };
  },
});

type EngineOf = Route & { engine: EngineRoute };

function routesOf(name: EngineName, config: Config | undefined): EngineOf[] {
  const all = [...(config?.section(routesSection).values() ?? [])];
  return all.filter((each): each is EngineOf => each.engine?.name === name);
}

/** As the first route that uses it has it. */
function binaryOf(engine: Engine, config: Config | undefined): string {
  const [first] = routesOf(engine.name, config);
  const own = first?.engine.settings.binary ?? engine.binary;
  return own.includes("/") ? resolve(config?.folder ?? ".", own) : own;
}

function dryRun(
  engine: Engine,
  each: EngineOf,
  config: Config | undefined,
): z.output<typeof route> {
  const folder = config?.folder ?? ".";
  const ready = readyEngine(each.engine, each.handler, folder);
  const model = ready.tiers[0]?.model ?? ready.model;
  const row = { type: each.type, model, account: ready.account };
  try {
    const { argv } = engine.command({
      prompt: "…",
      cwd: folder,
      model,
      mode: ready.mode,
      resume: null,
      turns: ready.budget.turns ?? null,
      isConfined: each.sandbox.length > 0,
      settings: ready.settings,
    });
    return { ...row, command: argv, problem: null };
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return { ...row, command: [], problem: error.message };
  }
}
