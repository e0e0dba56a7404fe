import { basename } from "node:path";
import { VivError } from "../../base/errors.ts";
import { sentence } from "../../base/text.ts";
import type { Manifest, Member } from "../manifest.ts";
import { membersFrom } from "../member-definition.ts";
import type { CrewChoice } from "./start.ts";

/**
 * The agent of `viv keeper up`, from what its flags say: as if they stood in a manifest, with the same checks.
 * Only that a mistake is refused: there is nobody else to go on with.
 */
export function singleton(choice: CrewChoice): Manifest & { members: [Member] } {
  const { keeper } = choice;
  const flags = {
    ...{ engine: keeper.engine, command: keeper.command, model: keeper.model },
    ...{ lifecycle: keeper.lifecycle, workdir: keeper.workdir, "run-if": keeper.run_if },
    "budget-usd-day": keeper.budget_usd_day,
    ...{ mode: choice.mode, interval: choice.intervalMs, continuous: keeper.continuous },
  };
  const fields = Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [{ name: flag.toUpperCase(), shown: `--${flag}`, value, line: 1 }],
  );
  const def = { name: "DEF", shown: "the def", value: choice.file, line: 1 };
  const log: string[] = [];
  const raw = { name: nameOf(choice.file), line: 1, fields: [def, ...fields] };
  const [member] = membersFrom([raw], (_, what) => log.push(what));
  const problem = member ? member.problem : (log[0] ?? "it has no def");
  if (member === undefined || problem !== null) {
    throw new VivError("USAGE", sentence(problem ?? ""));
  }
  return { members: [member], log };
}

function nameOf(file: string): string {
  const name = basename(file).replace(/\.[^.]*$/, "");
  return name.replace(/[^A-Za-z0-9_-]+/g, "-") || "keeper";
}
