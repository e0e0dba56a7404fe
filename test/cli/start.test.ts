import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import { viv } from "./support.ts";

/** What a command loads before it does anything: every start of `viv` pays for it. */

const LIST = `process.on("exit", () => {
  require("node:fs").writeFileSync(process.env.LOADED, Object.keys(require.cache).join("\\n"));
});
`;

function loadedBy(...args: string[]): string {
  const folder = newFolder();
  writeFileSync(join(folder, "list.cjs"), LIST);
  expect(viv(["init", "run"], { cwd: folder })).toMatchObject({ status: 0 });
  const loaded = join(folder, "loaded");
  const env = { NODE_OPTIONS: `--require ${join(folder, "list.cjs")}`, LOADED: loaded };
  expect(viv(args, { cwd: folder, env })).toMatchObject({ status: 0, stderr: "" });
  const files = readFileSync(loaded, "utf8").split("\n");
  return files.map((file) => readFileSync(file, "utf8")).join("\n");
}

it.each([["ls"], ["enqueue", "--type", "audit"]])(
  "viv %s loads neither prices nor budgets",
  (...args) => {
    const code = loadedBy(...args);
    expect(code).toContain("parseArgs");
    for (const word of ["class SharedBudget", "PRICES_AS_OF ="])
      expect(code.includes(word), word).toBe(false);
  },
);
