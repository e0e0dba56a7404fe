import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { runHook } from "./hook.ts";

const hasEnded = (pid: number) => /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

it("tells why, also when the exit is seen before the output", async () => {
  const cwd = newFolder();
  const said = "echo $$ > pid; until [ -e go ]; do sleep 0.01; done; echo no such room >&2; exit 3";
  const ended = runHook({ argv: ["/bin/sh", "-c", said], stdin: "", cwd, timeoutMs: 60_000 });
  await expect.poll(() => existsSync(join(cwd, "pid"))).toBe(true);
  await expect.poll(() => readFileSync(join(cwd, "pid"), "utf8")).toMatch(/\n$/);
  const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
  // Its output and its signal come in one turn of the loop, and with its signal all children are looked at.
  const other = spawn("echo", ["hello"], { stdio: ["ignore", "pipe", "ignore"] });
  other.stdout.once("data", () => {
    writeFileSync(join(cwd, "go"), "");
    while (!hasEnded(pid));
  });
  while (!hasEnded(other.pid as number));
  expect(await ended).toEqual({ kind: "failed", why: "exit 3: no such room" });
});
