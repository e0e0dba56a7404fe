import { dirname } from "node:path";
import { type ConfigTable, type KeyRead, readToml } from "../base/config-table.ts";
import type { Config, GetSection, Section } from "../base/section.ts";
import { crewSection } from "../crew/config.ts";
import { enginesSection, routedEnginesSection } from "../engines/config-engine.ts";
import { budgetSection, pricesSection } from "../engines/costs/config-costs.ts";
import { fleetSection } from "../fleet/config.ts";
import { scheduleSection } from "../fleet/schedule/config.ts";
import { loadCron } from "../fleet/schedule/cron.ts";
import { mergeSection } from "../merge/config.ts";
import { notifySection } from "../notify/config.ts";
import { runSection } from "../queue/config-run.ts";
import { serverSection } from "../server/config.ts";
import { wardenSection } from "../warden/config.ts";
import { belongsInRoute, limitsSection, routesSection } from "../work/config-route.ts";

/** viv.toml: each room reads its own section. */
const SECTIONS: readonly Section<unknown>[] = [
  fleetSection, // it reads one key of [server], whose own section refuses unknown ones
  ...[runSection, routesSection, limitsSection, enginesSection, routedEnginesSection],
  ...[pricesSection, budgetSection, crewSection, wardenSection, mergeSection, notifySection],
  scheduleSection,
  serverSection,
];

/** Reads a viv.toml. All mistakes in it are in one INVALID, one on a line, each with its place. */
export async function parseConfig(
  text: string,
  file: string,
  onRead?: (read: KeyRead) => void,
): Promise<Config> {
  if (text.includes("schedule")) await loadCron(); // its patterns are checked while it is read
  const read = (top: ConfigTable) => ({
    file,
    folder: dirname(file),
    text,
    section: readSections(top),
  });
  return readToml(text, file, read, onRead);
}

/** All sections, so that every mistake is noted. */
export function readSections(top: ConfigTable): GetSection {
  const values = new Map<Section<unknown>, unknown>();
  const section: GetSection = (one) => {
    if (!values.has(one)) values.set(one, one(top, section));
    return values.get(one) as ReturnType<typeof one>;
  };
  for (const one of SECTIONS) section(one);
  top.refuseOthers((key) => belongsInRoute(key, top.hasTable(key)));
  return section;
}
