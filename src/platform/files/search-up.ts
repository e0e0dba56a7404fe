import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { whyNotClimbed, whyNotTrusted } from "./owned.ts";

export interface SearchStop {
  /** The folder, or the file in it, that was not used. */
  path: string;
  why: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Where a configuration file is looked for: here and above, up to and including the repository (the
 * folder that has .git) or the home folder, and never in a folder above that another user owns or can
 * write: a file put there would be obeyed by every user below.
 */
export function* foldersUp(
  from: string,
  env: Env,
  onStop: (stop: SearchStop) => void,
): Generator<string> {
  const home = env.HOME ? realOf(env.HOME) : undefined;
  for (let folder = from; ; ) {
    yield folder;
    if (existsSync(join(folder, ".git")) || realOf(folder) === home) return;
    const parent = dirname(folder);
    if (parent === folder) return;
    const why = whyNotClimbed(parent);
    if (why !== null) return onStop({ path: parent, why });
    folder = parent;
  }
}

/** The nearest file or folder of that name. One that is not to be trusted ends the search. */
export function findUp(
  name: string,
  from: string,
  env: Env,
  onStop: (stop: SearchStop) => void,
): string | null {
  const stopped = (stop: SearchStop) => {
    const path = join(stop.path, name);
    if (existsSync(path)) onStop({ path, why: `is in a folder that ${stop.why}` });
  };
  for (const folder of foldersUp(from, env, stopped)) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    const why = whyNotTrusted(path);
    if (why === null) return path;
    onStop({ path, why });
    return null;
  }
  return null;
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // a home that is not there ends no search
  }
}
