import { readFileSync } from "node:fs";
import { defineConfig } from "rolldown";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const programs = {
  viv: "src/app/viv.ts",
  "swarm-cli": "src/app/swarm-cli.ts",
  "demo-worker": "src/app/demo-worker.ts",
  "script-engine": "src/engines/script/script-program.ts",
};

// Dependencies are bundled in: one read instead of a walk through node_modules is most of what
// makes `viv` start fast. A dynamic import() stays a chunk of its own and costs nothing until it
// is reached.
const common = {
  platform: "node",
  transform: { define: { __VIV_VERSION__: JSON.stringify(version) } },
};

export default defineConfig([
  {
    ...common,
    input: { main: "src/main.ts" },
    output: {
      dir: "dist",
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name]-[hash].js",
    },
  },
  {
    ...common,
    // The programs are CommonJS: node loads that in two thirds of the time it takes for modules,
    // and a command in a shell loop is mostly loading.
    input: programs,
    preserveEntrySignatures: "allow-extension",
    output: {
      dir: "dist",
      format: "cjs",
      entryFileNames: "[name].cjs",
      chunkFileNames: "chunks/[name]-[hash].cjs",
      // Each file costs a fraction of a millisecond: what is mostly loaded together is one.
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [
          { name: "store", test: /src\/queue\/fs\// },
          { name: "platform", test: /src\/platform\/(files|processes)\//, minShareCount: 6 },
          { name: "base", test: /src\/base\//, minShareCount: 12 },
        ],
      },
      banner: (chunk) => (chunk.isEntry ? "#!/usr/bin/env node" : ""),
    },
  },
  {
    ...common,
    // A program of its own, so that nothing of the `ai` package gets near the others.
    input: { llm: "src/engines/llm/llm-program.ts" },
    output: {
      dir: "dist",
      format: "cjs",
      entryFileNames: "[name].cjs",
      banner: "#!/usr/bin/env node",
    },
  },
]);
