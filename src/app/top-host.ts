import { unlessRefused } from "../base/errors.ts";
import { type Context, type Env, isStream } from "../operation/operation.ts";
import { colorsFor, isUtf8 } from "../operation/term.ts";
import type { Screen, TopHost } from "../overview/top/host.ts";
import { TerminalScreen } from "../platform/terminal-screen.ts";
import { CATALOG } from "./catalog.ts";

/** What `viv top` needs of this process. */
export function topHost(ownsTerminal = false): TopHost {
  return { screen: (env) => (ownsTerminal ? screenHere(env) : null), ask: answerOf };
}

function screenHere(env: Env): Screen | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return null;
  const screen = new TerminalScreen({ stdin, stdout });
  return Object.assign(screen, { color: colorsFor(env, true), isUtf8: isUtf8(env) });
}

/** What an operation says here, without inputs; null where it is refused, or not known. */
async function answerOf(name: string, context: Context): Promise<unknown> {
  const command = await CATALOG.commands.find((entry) => entry.name === name)?.load();
  if (command === undefined || isStream(command.op)) return null;
  const { op } = command;
  return unlessRefused(() => op.run(context, {})); // there is no crew here, or none runs
}
