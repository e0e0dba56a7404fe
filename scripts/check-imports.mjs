// Each room of src/ imports only what its row lists, so that any room can be read without the ones
// above it, and no two need each other. "type x" means `import type` only: the interface may be
// known, the implementation is handed in. Test files are free.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const BELOW = ["base", "platform", "operation"];
const MACHINE = [...BELOW, "ledger"];
const WORKING = [...MACHINE, "gate", "queue", "engines"];
const rows = {
  base: [[], "base is the vocabulary that all rooms share, and stands alone"],
  platform: [["base"], "the machine knows nothing of tasks, agents and commands"],
  operation: [["base"], "the kit renders any operation, and names none"],
  org: [["base"], "org text is text"],
  ledger: [BELOW, "a ledger keeps what a room says; what that means is the room's business"],
  queue: [MACHINE, "a queue records what became of tasks, and does no other work"],
  gate: [MACHINE, "slots are given to whoever asks; what for is not the gate's business"],
  engines: [
    [...MACHINE, "gate", "type queue"],
    "an engine runs a model; for which task is not its business",
  ],
  work: [WORKING, "a worker takes any task of any store, and knows no layout and no supervisor"],
  pit: [[...WORKING, "work"], "the pit is one layout of a queue; nothing below knows it"],
  merge: [[...WORKING, "work"], "done work comes home: a worker needs no merge to do its work"],
  notify: [[...MACHINE, "type queue"], "news is handed in; which room it comes from is open"],
  board: [[...MACHINE, "org"], "a board needs git and org, and no queue"],
  crew: [[...MACHINE, "org", "gate", "engines"], "a crew has no tasks: its members tick"],
  warden: [
    [...MACHINE, "type queue"],
    "the warden asks a directory of suspects, not the rooms they live in",
  ],
  fleet: [
    [...MACHINE, "queue", "type work", "type pit", "type crew", "type warden"],
    "the fleet opens runs, starts programs and watches them; app hands it the parts",
  ],
  overview: [[...WORKING, "work", "merge"], "an overview reads other rooms; none of them needs it"],
  server: [
    [...MACHINE, "queue"],
    "the server answers whatever operations app hands it, and knows none of them",
  ],
  swarm: [[...MACHINE, "queue"], "swarm-cli is a second command line of the queue"],
  app: ["anything", "this is where the rooms are put together"],
  "main.ts": ["anything", "the library: app's composition, and the types that it exports"],
};

const src = resolve(process.argv[2] ?? fileURLToPath(new URL("../src", import.meta.url)));
const clause = String.raw`(type\s+)?(?:[\w$]+\s*,?\s*)?(?:\*(?:\s*as\s+[\w$]+)?|\{[^{}]*\})?`;
const importPatterns = [
  new RegExp(String.raw`^[ \t]*(?:import|export)\b\s*${clause}\s*from\s*["'](.+?)["']`, "gm"),
  /^[ \t]*import\s*()["'](.+?)["']/gm,
  /(?<!^[ \t]*\*.*|\/\/ .*)\bimport\s*(\()\s*["'](.+?)["']/gm, // but not in a comment
];

/** The row of a file: its room, or itself. */
function rowOf(path) {
  return relative(src, path).split("/")[0];
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
const files = readdirSync(src, { recursive: true })
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
  .sort()
  .map((path) => join(src, path));

/** Files that need each other to be loaded, as one line each; types are gone by then. */
function* cycles() {
  const done = new Set();
  const trail = [];
  const visit = function* (path) {
    const at = trail.indexOf(path);
    if (at >= 0) yield `${[...trail.slice(at), path].map(name).join(" -> ")} is a cycle`;
    if (at >= 0 || done.has(path)) return;
    trail.push(path);
    for (const { specifier, isType } of importsOf(readFileSync(path, "utf8"))) {
      if (!isType) yield* visit(resolve(dirname(path), specifier));
    }
    trail.pop();
    done.add(path);
  };
  for (const path of files) yield* visit(path);
}

const problems = [...files.flatMap((path) => [...problemsOf(path)]), ...cycles()];
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
