import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import type { UnitFiles } from "../../platform/systemd/unit-files.ts";
import { type ServicePlace, timerUnit, type Unit, workerUnit } from "./service-units.ts";

export interface Installed {
  files: { path: string; status: "written" | "unchanged" }[];
  next: string[];
}

/** All of them or, where one would have to replace something else, none. */
export function installUnits(
  { folder, searched, name }: ServicePlace,
  units: readonly Unit[],
  force: boolean,
  files: UnitFiles,
): Installed {
  const found = units.map((unit) => {
    const path = join(folder, unit.name);
    return { path, text: unit.text, old: files.read(path) };
  });
  const other = found.find(({ old, text }) => old !== null && old !== text);
  if (other && !force) {
    throw new VivError(
      "WRONG_STATE",
      `${other.path} is there with other content; --force replaces it, --name NAME makes another.`,
      { path: other.path },
    );
  }
  const written = found.map(({ path, text, old }): Installed["files"][number] => {
    if (old === text) return { path, status: "unchanged" };
    files.write(path, text);
    return { path, status: "written" };
  });
  const paths = found.map(({ path }) => inShell(path)).join(" ");
  const started = `${workerUnit(name)} ${timerUnit(name)}`;
  return {
    files: written,
    next: [
      ...(folder === searched ? [] : [`systemctl --user link ${paths}`]),
      "systemctl --user daemon-reload",
      `systemctl --user enable --now ${started}`,
      // What runs already does not hear of new settings by itself.
      ...(other ? [`systemctl --user restart ${started}`] : []),
      'loginctl enable-linger "$USER"',
      `journalctl --user -u ${workerUnit(name)} -f`,
    ],
  };
}

function inShell(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
