import { spawn } from "node:child_process";
import { VivError } from "../../base/errors.ts";

/** Runs tar in a folder; its first line of complaint is the error. */
export async function runTar(args: readonly string[], cwd: string): Promise<void> {
  const env = { ...process.env, LC_ALL: "C", TAR_OPTIONS: "" };
  const child = spawn("tar", args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (status === 0) return;
  const said = stderr.trim().split("\n")[0] ?? "";
  const code = /no space left|disk quota/i.test(stderr) ? "DISK_FULL" : "INVALID";
  throw new VivError(code, `tar failed: ${said || `it ended with ${status}`}.`);
}
