// Each folder of src/ imports only what its row lists, so that data flows one way and any part
// can be read without the ones above it. "type x" means `import type` only: the interface may
// be known, the implementation is handed in. Test files are free.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const rows = {
  model: [[], "the model is the vocabulary all others share, and stands alone"],
  policy: [["model"], "a decision is pure: what it must know comes in as an argument"],
  files: [["model"], "which files may be trusted, and how they are reached; not what is in them"],
  store: [["model"], "the Store interface knows neither its callers nor its implementations"],
  "store/fs": [
    ["model", "policy", "store", "files"],
    "a store records transitions, and does no other work",
  ],
  "store/conformance": [["model", "store"], "the suite knows the interface, no implementation"],
  host: [["model", "files"], "a port to the machine knows nothing of tasks, stores and services"],
  engines: [
    ["model", "policy"],
    "an engine is a command and a reader; what runs it is not its business",
  ],
  services: [
    ["model", "policy", "store", "type host", "type engines"],
    "a service sees interfaces; main.ts hands it the implementations",
  ],
  ops: [
    ["model", "policy", "store", "services", "type host", "type engines"],
    "an operation sees interfaces, and not the command line that calls it",
  ],
  cli: [["model", "ops", "files"], "the command line only renders operations"],
  bin: ["anything", "a program starts what main.ts has wired"],
  "main.ts": ["anything", "this is where the implementations are wired together"],
};

const src = resolve(process.argv[2] ?? fileURLToPath(new URL("../src", import.meta.url)));
const clause = String.raw`(type\s+)?(?:[\w$]+\s*,?\s*)?(?:\*(?:\s*as\s+[\w$]+)?|\{[^{}]*\})?`;
const importPatterns = [
  new RegExp(String.raw`^[ \t]*(?:import|export)\b\s*${clause}\s*from\s*["'](.+?)["']`, "gm"),
  /^[ \t]*import\s*()["'](.+?)["']/gm,
  /(?<!^[ \t]*\*.*|\/\/ .*)\bimport\s*(\()\s*["'](.+?)["']/gm, // but not in a comment
];

/** The row of a file: its first folder (or itself); each implementation of a store has its own. */
function rowOf(path) {
  const [first, second, third] = relative(src, path).split("/");
  return first === "store" && third !== undefined ? `${first}/${second}` : first;
}

function* importsOf(text) {
  for (const pattern of importPatterns) {
    for (const match of text.matchAll(pattern)) {
      const [whole, typeOnly, specifier] = match;
      const line = text.slice(0, match.index + whole.length).split("\n").length;
      if (specifier.startsWith(".")) yield { specifier, line, isType: typeOnly?.trim() === "type" };
    }
  }
}

function* problemsOf(path) {
  const from = rowOf(path);
  if (!(from in rows)) return yield `${name(path)}:1 ${from} has no row in check-imports.mjs`;
  const [allowed, reason] = rows[from];
  for (const { specifier, line, isType } of importsOf(readFileSync(path, "utf8"))) {
    const to = rowOf(resolve(dirname(path), specifier));
    if (to === from || allowed === "anything" || allowed.includes(to)) continue;
    const knowsType = allowed.includes(`type ${to}`);
    if (knowsType && isType) continue;
    const how = knowsType ? " except with `import type`" : "";
    yield `${name(path)}:${line} ${from} may not import ${to}${how}: ${reason}`;
  }
}

const name = (path) => relative(dirname(src), path);
const problems = readdirSync(src, { recursive: true })
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
  .sort()
  .flatMap((path) => [...problemsOf(join(src, path))]);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
