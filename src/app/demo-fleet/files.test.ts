import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { worldFiles } from "./files.ts";

it("gives a terminal the fleet's viv, and leaves no variable of the demo in it", () => {
  const folder = join(newFolder(), "it's a demo");
  const viv = join(folder, "viv.mjs");
  const files = worldFiles({ viv, node: process.execPath, folder, hasTmux: true }, 1);
  for (const name of ["shell", "bin/viv", "demo/viv.toml"]) {
    const file = files.get(name);
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), file?.text ?? "");
    if (file?.isProgram) chmodSync(join(folder, name), 0o755);
  }
  writeFileSync(viv, "console.log(process.cwd(), process.env.VIV_STATE)");
  const { VIV_STATE: _, ...env } = process.env;
  const shell = `. "$0/shell"; viv; echo "\${VIV_STATE-unset} \${VIV_RUN-unset}"`;
  const output = execFileSync("sh", ["-euc", shell, folder], { env, encoding: "utf8" });
  expect(output).toBe(`${folder}/demo ${folder}/state\nunset unset\n`);
});
