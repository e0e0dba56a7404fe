import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { worldFiles } from "./files.ts";

/** What the demo runs in: its folder with two repositories, a run, a pit and a crew. */
export interface World {
  folder: string;
  /** Where viv.toml is. */
  fleet: string;
  run: string;
  shop: string;
  /** Of the tmux server of its own; null: there is no tmux here. */
  tmux: string | null;
  env: Record<string, string>;
  /** Runs `viv` there; its stdout. */
  viv(...args: string[]): Promise<string>;
}

const program = promisify(execFile);

export async function makeWorld(
  folder: string,
  { viv, node }: { viv: string; node: string },
  pace: number,
  signal: AbortSignal,
): Promise<World> {
  const env = environment(folder);
  if (!has("git", "--version")) {
    throw new Error("git is not installed; without it there is: viv demo --no-page");
  }
  const tmux = has("tmux", "-V") ? join(folder, "tmux") : null;
  for (const [name, { text, isProgram }] of worldFiles(
    { viv, node, folder, hasTmux: tmux !== null },
    pace,
  )) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: isProgram ? 0o755 : 0o644 });
  }
  const fleet = join(folder, "demo");
  const shop = join(folder, "shop");
  const world: World = {
    ...{ folder, fleet, shop, tmux, env, run: join(fleet, "run") },
    viv: async (...args) =>
      (await program(node, [viv, ...args], { cwd: fleet, env, maxBuffer: 1 << 24, signal })).stdout,
  };
  for (const repository of [shop, fleet]) {
    const git = (...args: string[]) => program("git", args, { cwd: repository, env, signal });
    await git("init", "-q", "-b", "main");
    await git("config", "user.name", "demo");
    await git("config", "user.email", "demo@example.org");
    await git("add", "-A");
    await git("commit", "-qm", "The beginning");
  }
  await world.viv("init", "run");
  await world.viv("pit", "init", "pit");
  await world.viv("board", "init", "--agent", "desk");
  return world;
}

/** Nothing of the user's own set-up counts there, and nothing of it is changed. */
function environment(folder: string): Record<string, string> {
  const own = Object.entries(process.env).filter(
    (one): one is [string, string] =>
      one[1] !== undefined && !/^(VIV_|WB_|GT_|GIT_|TMUX)/.test(one[0]),
  );
  return {
    ...Object.fromEntries(own),
    PATH: `${join(folder, "bin")}:${process.env.PATH ?? ""}`,
    VIV_STATE: join(folder, "state"),
    VIV_DEMO: folder,
    SHOP: join(folder, "shop"), // for agents without a worktree
    ...{ GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
  };
}

function has(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
