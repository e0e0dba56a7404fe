import type { Env } from "../../operation/operation.ts";
import { findProgram } from "../../platform/processes/programs.ts";
import { CATALOG } from "../catalog.ts";
import { knownKeys } from "../settings/known-keys.ts";
import { lookAround, schemaFor } from "./look-around.ts";
import type { TemplateHost } from "./operations.ts";
import { begunIn, writePlan } from "./write-plan.ts";

/** Templates in this folder, with what this program knows. */
export function templateHost(cwd: string, env: Env): TemplateHost {
  return {
    lookAround: async (viv) => {
      const keys = knownKeys();
      return {
        ...(await lookAround(cwd, env)),
        schema: schemaFor(cwd, viv),
        unknownViv: findProgram("viv", env.PATH) === null ? viv : null,
        knows: (key) => keys.has(key),
        has: (command) => CATALOG.commands.some(({ name }) => name === command),
      };
    },
    begun: () => begunIn(cwd),
    write: (plan) => writePlan(cwd, plan),
  };
}
