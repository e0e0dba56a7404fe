import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig } from "rolldown";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const programs = { viv: "src/app/viv.ts", "swarm-cli": "src/app/swarm-cli.ts" };
const helpers = {
  "demo-worker": "src/app/demo-worker.ts",
  "script-engine": "src/engines/script/script-program.ts",
};

// Dependencies are bundled in: one read instead of a walk through node_modules is most of what
// makes `viv` start fast. A dynamic import() stays a chunk of its own and costs nothing until it
// is reached.
const common = {
  platform: "node",
  checks: { ineffectiveDynamicImport: false }, // it defers in one program what another has at once
  transform: { define: { __VIV_VERSION__: JSON.stringify(version) } },
};

/** What `viv enqueue` loads, by its first module and the ones that it imports on the way. */
const START = [
  "src/app/viv.ts",
  "src/queue/cli/tasks.ts",
  "src/app/open-run.ts",
  "src/app/note-run.ts",
  "src/queue/fs/enqueue/enqueue.ts",
];
/** Zod's, for `viv completion` and OpenAPI alone. */
const SELDOM = /zod\/v4\/core\/.*json-schema/;

/** The modules that a start needs: core.cjs. Each further file would cost a fraction of a millisecond. */
function startModules(context) {
  const [entry, ...rest] = START.map((file) => resolve(file));
  const found = new Set();
  const follow = (id) => {
    if (found.has(id) || SELDOM.test(id)) return;
    found.add(id);
    context.getModuleInfo(id)?.importedIds.forEach(follow);
  };
  for (const id of [entry, ...rest]) follow(id);
  found.delete(entry); // a program's own file, which names the path of the program
  return found;
}

let core;

// The programs are CommonJS: node loads that in two thirds of the time it takes for modules, and a
// command in a shell loop is mostly loading.
const program = {
  format: "cjs",
  entryFileNames: "[name].cjs",
  banner: ({ isEntry }) => (isEntry ? "#!/usr/bin/env node" : ""),
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
    input: programs,
    preserveEntrySignatures: "allow-extension",
    output: {
      ...program,
      dir: "dist",
      chunkFileNames: ({ name }) => (name === "core" ? "core.cjs" : "chunks/[name]-[hash].cjs"),
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [
          {
            debugName: "core",
            name: (id, context) => {
              core ??= startModules(context);
              return core.has(id) ? "core" : null;
            },
          },
          { name: "platform", test: /src\/platform\/(files|processes)\//, minShareCount: 6 },
          { name: "base", test: /src\/base\//, minShareCount: 12 },
        ],
      },
      // Before the program asks for core.cjs: what is there already is not loaded again.
      banner: ({ isEntry }) => (isEntry ? '#!/usr/bin/env node\nrequire("./code-cache.cjs");' : ""),
    },
  },
  {
    ...common,
    input: { "code-cache": "src/app/code-cache.ts" },
    output: { ...program, dir: "dist", banner: "" },
  },
  {
    ...common,
    // Started once for each attempt or demo, and small: without the core of the others.
    input: helpers,
    output: { ...program, dir: "dist", chunkFileNames: "chunks/[name]-[hash].cjs" },
  },
  {
    ...common,
    // A program of its own, so that nothing of the `ai` package gets near the others.
    input: { llm: "src/engines/llm/llm-program.ts" },
    output: { ...program, dir: "dist" },
  },
]);
