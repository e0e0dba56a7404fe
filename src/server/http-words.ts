import { isVivError, VivError } from "../base/errors.ts";
import type { Flag } from "../operation/flags.ts";

/** A command stays as it is, up to the next clause. */
const COMMAND_OR_FLAG = /\b(?:viv|swarm-cli|git) [^;]*|--([a-z][a-z-]*)/g;

/** An error of an operation names inputs as flags of its command; over HTTP they are keys. */
export function inHttpWords(error: unknown, flags: readonly Flag[], isQuery: boolean): unknown {
  if (!isVivError(error)) return error;
  const message = error.message.replace(COMMAND_OR_FLAG, (all, name?: string) => {
    const flag = flags.find((one) => one.name === name);
    if (flag === undefined) return all;
    if (isQuery) return flag.kind === "boolean" ? `${flag.key}=true` : flag.key;
    return flag.kind === "boolean" ? `"${flag.key}": true` : `"${flag.key}"`;
  });
  if (message === error.message) return error;
  return new VivError(error.code, message, error.details, { cause: error });
}
