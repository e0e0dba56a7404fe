// Making dist/. The bundle is built beside dist/ and swapped in whole, so a build that fails
// leaves the old one as it was. dist/.stamp holds the hash of what it was built from: content,
// not times, because a git checkout gives files the time of the checkout.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, run, tool } from "./run.mjs";

const dist = join(root, "dist");
const stage = join(root, "node_modules/.viv-build");
const old = join(root, "node_modules/.viv-build-old");
const programs = ["viv.cjs", "swarm-cli.cjs", "demo-worker.cjs", "llm.cjs", "script-engine.cjs"];

/** True when dist/ was built from the sources as they are now. */
export function isBuilt() {
  try {
    return readFileSync(join(dist, ".stamp"), "utf8") === sourceHash();
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

/** Builds dist/. Declarations (`types`) are for publishing and take seconds; running needs none. */
export function bundle({ types }) {
  const hash = sourceHash();
  rmSync(stage, { recursive: true, force: true });
  // Its stdout is a table of sizes; errors and warnings come on stderr.
  must("rolldown", ["--config", "rolldown.config.mjs", "--dir", stage], "ignore");
  const viv = (...args) => execFileSync(process.execPath, [join(stage, "viv.cjs"), ...args]);
  writeFileSync(join(stage, "flags.json"), viv("completion", "flags"));
  writeFileSync(join(stage, "viv.schema.json"), viv("completion", "schema"));
  const maker = join(root, "scripts/make-code-cache.mjs");
  execFileSync(process.execPath, [maker, stage], { stdio: "pipe" });
  for (const name of programs) chmodSync(join(stage, name), 0o755);
  must("vite", ["build", "--config", "web/vite.config.mjs", "--outDir", join(stage, "web")]);
  if (types) must("tsc", ["--project", "tsconfig.build.json", "--outDir", join(stage, "types")]);
  writeFileSync(join(stage, ".stamp"), hash);

  rmSync(old, { recursive: true, force: true });
  try {
    renameSync(dist, old);
  } catch (error) {
    if (error.code !== "ENOENT") throw error; // the first build has nothing to move away
  }
  renameSync(stage, dist);
  rmSync(old, { recursive: true, force: true });
}

function must(name, args, stdout = 2) {
  const status = run(tool(name), args, { stdio: ["ignore", stdout, 2] });
  if (status !== 0) throw new Error(`the build failed: ${name} ended with status ${status}`);
}

function sourceHash() {
  const sources = ["src", "web"]
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const settings = ["package.json", "package-lock.json", "rolldown.config.mjs"];
  const hash = createHash("sha256");
  for (const path of [...settings.map((name) => join(root, name)), ...sources]) {
    const content = readFileSync(path);
    hash.update(`${path.slice(root.length)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}
