import { readFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { join } from "node:path";
import { Script } from "node:vm";

/**
 * Loads core.cjs, which every command needs, with the code that V8 compiled of it during the build
 * (scripts/make-code-cache.mjs): compiling is most of what loading takes. V8 itself rejects what
 * another version of it compiled, and compiles anew.
 */
const core = join(__dirname, "core.cjs");

/** For the build, which stores what V8 has compiled of it. */
export const script = new Script(Module.wrap(readFileSync(core, "utf8")), {
  filename: core,
  cachedData: readIfThere(join(__dirname, "core.cache")),
});

// As node's own loader does it: known before it runs.
const loaded = new Module(core);
loaded.filename = core;
const ownRequire = createRequire(core);
ownRequire.cache[core] = loaded as NodeModule;
script.runInThisContext()(loaded.exports, ownRequire, loaded, core, __dirname);
loaded.loaded = true;

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined; // it only takes longer
  }
}
