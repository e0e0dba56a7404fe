import { readFileSync } from "node:fs";
import { defineConfig } from "rolldown";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** Entries that are run as programs. */
const programs = ["viv", "swarm-cli", "demo-worker"];

export default defineConfig({
  input: {
    main: "src/main.ts",
    ...Object.fromEntries(programs.map((name) => [name, `src/bin/${name}.ts`])),
  },
  platform: "node",
  transform: { define: { __VIV_VERSION__: JSON.stringify(version) } },
  // Dependencies are bundled in: one read instead of a walk through node_modules is most of
  // what makes `viv` start fast. A dynamic import() stays a chunk of its own and costs nothing
  // until it is reached.
  output: {
    dir: "dist",
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    banner: (chunk) => (needsHashbang(chunk) ? "#!/usr/bin/env node" : ""),
  },
});

/** A program starts with a `#!` line; one that its source already has is kept as it is. */
function needsHashbang(chunk) {
  if (!chunk.isEntry || !programs.includes(chunk.name)) return false;
  return !readFileSync(chunk.facadeModuleId, "utf8").startsWith("#!");
}
