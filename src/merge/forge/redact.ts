import type { Env } from "../../operation/operation.ts";
import { secretsIn, withoutKnown, withoutSecrets } from "../../operation/secrets.ts";

/** A text that leaves the machine: without secrets, and with `~` for the home folder. */
export function redacted(text: string, env: Env): string {
  const safe = withoutSecrets(withoutKnown(text, secretsIn(env)));
  const home = env.HOME?.replace(/\/+$/, "");
  return home ? safe.replaceAll(`${home}/`, "~/") : safe;
}
