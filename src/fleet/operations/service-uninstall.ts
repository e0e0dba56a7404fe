import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { UnitFiles } from "../../platform/systemd/unit-files.ts";
import { markOf, reapUnit, type ServicePlace, timerUnit, workerUnit } from "./service-units.ts";

export interface Uninstalled {
  files: { path: string; status: "removed" | "absent" }[];
  next: string[];
}

/** Removes what `installUnits` writes, and nothing else. */
export function uninstallUnits(
  place: ServicePlace,
  runDir: string,
  force: boolean,
  files: UnitFiles,
): Uninstalled {
  const { name, folder } = place;
  const units = [workerUnit(name), reapUnit(name), timerUnit(name)];
  const paths = units.map((unit) => join(folder, unit));
  if (!force) {
    refuseOthers(paths, runDir, files);
    refuseEnabled(place, files);
  }
  const removed = paths.map((path): Uninstalled["files"][number] => ({
    path,
    status: files.remove(path) ? "removed" : "absent",
  }));
  return { files: removed, next: ["systemctl --user daemon-reload"] };
}

/** Of another run with the same name, or written by hand. */
function refuseOthers(paths: readonly string[], runDir: string, files: UnitFiles): void {
  const mark = `${markOf(runDir)}\n`;
  const other = paths.find((path) => !(files.read(path) ?? mark).startsWith(mark));
  if (other === undefined) return;
  throw new VivError(
    "WRONG_STATE",
    `${other} was not made for the run ${runDir}; look at it, then --force removes it.`,
    { path: other },
  );
}

/** Without its file systemd would keep a unit running, and no longer know what it enabled. */
function refuseEnabled({ name, folder, searched }: ServicePlace, files: UnitFiles): void {
  const units = [workerUnit(name), timerUnit(name)];
  const links = ["default.target.wants", "timers.target.wants"].flatMap((wants) =>
    units.flatMap((unit) => [folder, searched].map((at) => join(at, wants, unit))),
  );
  if (!links.some((link) => files.isThere(link))) return;
  const before = `systemctl --user disable --now ${units.join(" ")}`;
  throw new VivError("WRONG_STATE", `the units are enabled; first run: ${before}`, {
    before: [before],
  });
}
