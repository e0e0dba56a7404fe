import { parseRecord } from "../base/json.ts";
import type { GoodConfig } from "../operation/io.ts";

/**
 * The last good viv.toml goes from `viv up` to the programs that it starts, in a variable of their
 * environment: in a file of the run, handlers could change what runs outside of their sandbox.
 */
const NAME = "VIV_GOOD_CONFIG";
/** Linux passes at most 128 KiB in one variable. A longer viv.toml is not handed on. */
const MAX_BYTES = 120 * 1024;

export function goodConfigEnv(good: GoodConfig): Record<string, string> {
  const text = JSON.stringify(good);
  return Buffer.byteLength(text) > MAX_BYTES ? {} : { [NAME]: text };
}

/** Takes it out of the environment: what this process starts (handlers, hooks) must not have it. */
export function takeGoodConfig(env: NodeJS.ProcessEnv): GoodConfig | undefined {
  const { file, text } = parseRecord(env[NAME] ?? "") ?? {};
  delete env[NAME];
  return typeof file === "string" && typeof text === "string" ? { file, text } : undefined;
}
