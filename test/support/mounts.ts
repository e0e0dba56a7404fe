import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Why this machine lets us mount nothing, or null when it does. */
export const cannotMount: string | null = tryToMount();

function tryToMount(): string | null {
  const folder = mkdtempSync(join(tmpdir(), "viv-mount-"));
  const { status, stderr, error } = spawnSync("mount", ["-t", "tmpfs", "tmpfs", folder]);
  if (status === 0) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true, force: true });
  if (status === 0) return null;
  const reason = error?.message ?? stderr.toString().trim();
  console.log(`skipping what needs a mount: ${reason}`);
  return reason || "mount failed";
}

/** Mounts a small filesystem of its own, gone when the test has finished. */
export function mountTmpfs(folder: string, options: string): void {
  mkdirSync(folder, { recursive: true });
  run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder]);
  onTestFinished(() => {
    spawnSync("umount", ["-l", folder]);
  });
}

export function remount(folder: string, options: string): void {
  run("mount", ["-o", `remount,${options}`, folder]);
}

function run(command: string, args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${error ?? stderr}`);
}
