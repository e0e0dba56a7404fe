// `node make-code-cache.mjs DIST`: runs one `viv enqueue` of the build in DIST, and stores what V8
// compiled for it as core.cache. src/app/code-cache.ts loads it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const dist = process.argv[2];
const load = createRequire(join(dist, "viv.cjs"));
const folder = mkdtempSync(join(tmpdir(), "viv-build-"));
process.chdir(folder);
process.env.VIV_STATE = join(folder, "state");
process.argv = [process.execPath, join(dist, "viv.cjs"), "enqueue", "--run", "run", "--type", "t"];

const { script } = load("./code-cache.cjs");
process.on("exit", (status) => {
  if (status === 0) writeFileSync(join(dist, "core.cache"), script.createCachedData());
  rmSync(folder, { recursive: true, force: true });
});
load("./viv.cjs");
