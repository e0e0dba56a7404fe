import { dirname } from "node:path";
import { readToml } from "../base/config-table.ts";
import type { Config, GetSection, Section } from "../base/section.ts";
import { crewSection } from "../crew/config.ts";
import { enginesSection, routedEnginesSection } from "../engines/config-engine.ts";
import { budgetSection, pricesSection } from "../engines/costs/config-costs.ts";
import { mergeSection } from "../merge/config.ts";
import { runSection } from "../queue/config-run.ts";
import { wardenSection } from "../warden/config.ts";
import { belongsInRoute, limitsSection, routesSection } from "../work/config-route.ts";

/** viv.toml: each room reads its own section. */
const SECTIONS: readonly Section<unknown>[] = [
  ...[runSection, routesSection, limitsSection, enginesSection, routedEnginesSection],
  ...[pricesSection, budgetSection, crewSection, wardenSection, mergeSection],
];

/** Reads a viv.toml. All mistakes in it are in one INVALID, one on a line, each with its place. */
export function parseConfig(text: string, file: string): Promise<Config> {
  return readToml(text, file, (top) => {
    const values = new Map<Section<unknown>, unknown>();
    const section: GetSection = (one) => {
      if (!values.has(one)) values.set(one, one(top, section));
      return values.get(one) as ReturnType<typeof one>;
    };
    for (const one of SECTIONS) section(one);
    top.refuseOthers((key) => (top.hasTable(key) ? undefined : belongsInRoute(key)));
    return { file, folder: dirname(file), section };
  });
}
