// What we compare with and do not depend on: bench/peers/ has a package.json of its own.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../peers/", import.meta.url));

export function loadSqlite() {
  return createRequire(`${folder}package.json`)("better-sqlite3");
}

/** Null when better-sqlite3 can be used, otherwise why not. Builds it the first time. */
export function whyNoSqlite() {
  const before = tryOut();
  if (before === null) return null;
  console.error("  building better-sqlite3 (once, takes a minute or two) ...");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stderr } = spawnSync("npm", ["ci", ...quiet], { cwd: folder, encoding: "utf8" });
  if (status === 0) return tryOut();
  console.error(stderr);
  return "better-sqlite3 could not be installed (see above)";
}

/** In another process: a native module of another node version stays loaded once it failed. */
function tryOut() {
  const program = `new (require("better-sqlite3"))(":memory:").close()`;
  const { status, stderr } = spawnSync(process.execPath, ["-e", program], {
    cwd: folder,
    encoding: "utf8",
  });
  if (status === 0) return null;
  return /Error: .*/.exec(stderr)?.[0] ?? `node ended with ${status}`;
}
