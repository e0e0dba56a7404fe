import { resolve } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { Here } from "../../operation/operation.ts";
import { crewSection } from "../settings.ts";
import type { CrewPorts } from "./ports.ts";

/** The state of the crew that a command is about: `--state`, or the nearest .crew from here upwards. */
export function stateFolder(given: string | undefined, here: Here, ports: CrewPorts): string {
  if (given !== undefined) {
    const folder = resolve(here.cwd, given);
    if (ports.isThere(folder)) return folder;
    throw new VivError(
      "RUN_NOT_FOUND",
      `there is no crew's state at ${folder}; start one: viv crew up`,
    );
  }
  const named = here.config?.section(crewSection)?.state;
  if (here.config && named !== undefined) {
    const folder = resolve(here.config.folder, named);
    if (ports.isThere(folder)) return folder;
  }
  const near = ports.findUp(".crew", here.cwd);
  if (near !== null) return near;
  throw new VivError(
    "RUN_NOT_FOUND",
    "there is no crew here (.crew); go to its folder, pass --state DIR, or start one: viv crew up crew.org",
  );
}
