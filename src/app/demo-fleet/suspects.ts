import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseRecord } from "../../base/json.ts";
import type { Moments } from "./moments.ts";
import type { World } from "./world.ts";

/** Two agents in a tmux server of the demo's own: `deaf` never answers, `keen` does. */
const run = promisify(execFile);

const tmux = (world: World, ...args: string[]) =>
  run("tmux", ["-u", "-f", "/dev/null", "-S", world.tmux ?? "", ...args], {
    cwd: world.folder,
    env: world.env,
  });

export async function startSuspects(world: World): Promise<void> {
  for (const [name, how] of [
    ["deaf", "hang"],
    ["keen", "listen"],
  ] as const) {
    const agent = [process.execPath, join(world.folder, "agent/demo-agent.mjs"), how];
    await tmux(world, "new-session", "-d", "-s", name, "-x", "100", "-y", "30", ...agent);
  }
}

export async function stopSuspects(world: World): Promise<void> {
  // It has ended with its last session, or was never started.
  if (world.tmux !== null) await tmux(world, "kill-server").catch(() => {});
}

export async function accuse(world: World, moments: Moments): Promise<void> {
  for (const name of ["deaf", "keen"]) {
    await world.viv("warrant", "file", name, "--note", "no output for a while", "--by", "demo");
  }
  moments.tell(
    "asked",
    "two agents in tmux are silent: the warden asks both before it ends anything",
    "warden",
    "viv dog dances",
  );
}

/** What the warden's receipts say so far. */
export function lookAtVerdicts({ folder }: World, moments: Moments): void {
  const completed = join(folder, "state/warden/completed");
  if (!existsSync(completed)) return;
  for (const name of readdirSync(completed).filter((one) => one.endsWith(".json"))) {
    const receipt = parseRecord(readFileSync(join(completed, name), "utf8"));
    const warrant = (receipt?.warrant ?? {}) as Record<string, unknown>;
    const command = `viv epitaph ${String(warrant.id)}`;
    if (receipt?.verdict === "pardoned") {
      moments.tell(
        "pardoned",
        `${String(warrant.target)} answered the question and was pardoned`,
        "warden",
        command,
      );
    }
    if (receipt?.verdict === "executed") {
      moments.tell(
        "executed",
        `${String(warrant.target)} answered nothing, so the warden ended its whole process tree; the receipt has the questions, the last screen and the proof`,
        `warden/${String(warrant.id)}`,
        command,
      );
    }
  }
}
