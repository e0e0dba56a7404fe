import { dirname } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { Engine } from "../engine.ts";
import { LlmReader } from "../llm/engine.ts";

/** A scenario instead of a model: for trying things out, and for tests. See script/scenario.ts. */
export function scriptEngine({ program }: { program: string }): Engine {
  return {
    name: "script",
    binary: process.execPath,
    reportsDollars: "each step",
    command: ({ prompt, model, mode, resume, settings: { scenario, binary } }) => {
      if (scenario === null) throw new VivError("INVALID", "The engine script needs a scenario.");
      return {
        argv: [binary ?? process.execPath, program, scenario],
        stdin: JSON.stringify({ prompt, model, mode, resume }),
        reads: [dirname(program), scenario],
      };
    },
    reader: ({ model }) => new LlmReader(model ?? "script"),
  };
}
