import type { ForgeHost } from "../merge/forge/forge.ts";
import type { Env } from "../operation/operation.ts";
import { readText } from "../platform/files/texts.ts";
import { askProgram } from "../platform/processes/ask-program.ts";
import { findProgram } from "../platform/processes/programs.ts";

const PATIENCE_MS = 60_000;

/** For programs that would ask, colour, page, look for updates or tell their requests. */
const QUIET = {
  ...{ NO_COLOR: "1", PAGER: "cat", GH_PAGER: "cat", GLAB_PAGER: "cat" },
  ...{ GH_PROMPT_DISABLED: "1", NO_PROMPT: "1" },
  ...{ GH_NO_UPDATE_NOTIFIER: "1", GLAB_CHECK_UPDATE: "false" },
  ...{ GH_DEBUG: undefined, GLAB_DEBUG: undefined, DEBUG: undefined },
  ...{ CLICOLOR_FORCE: undefined, GH_FORCE_TTY: undefined, FORCE_COLOR: undefined },
};

/** gh and glab of this machine, with the login that the user gave them. */
export function forgeHost(env: Env, now: () => number = Date.now): ForgeHost {
  const inherited = Object.entries(env).filter(([name]) => !name.startsWith("GIT_"));
  const quiet = { ...Object.fromEntries(inherited), ...QUIET };
  return {
    env,
    now,
    find: (program) => findProgram(program, env.PATH),
    run: (request) =>
      askProgram({ ...request, env: { ...quiet, ...request.env }, timeoutMs: PATIENCE_MS }),
    readText,
  };
}
