// Looks at a pit as fast as it can, until stdin ends:
//   watcher.mjs PIT
// At no moment may a food lie in done/ without its whole result (it ends with END), or be nowhere
// after it was seen claimed. Prints each such moment, and at the end {"looks":N}.

import { existsSync, readdirSync, readFileSync } from "node:fs";

const [pit] = process.argv.slice(2);
let isOver = false;
process.stdin.on("end", () => {
  isOver = true;
});
process.stdin.resume();

function names(folder) {
  return readdirSync(`${pit}/${folder}`).filter((name) => name.endsWith(".md"));
}

function isWhole(id) {
  try {
    return readFileSync(`${pit}/done/${id}.result.md`, "utf8").endsWith("END\n");
  } catch {
    return false;
  }
}

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const checked = new Set();
let looks = 0;

function look() {
  looks++;
  const before = names("claimed").map((name) => name.slice(name.indexOf(".") + 1, -3));
  for (const name of names("done")) {
    const id = name.slice(0, -3);
    if (id.endsWith(".result") || checked.has(id)) continue;
    checked.add(id);
    if (!isWhole(id)) say({ id, problem: "in done/ without its whole result" });
  }
  const claims = new Set(names("claimed").map((name) => name.slice(name.indexOf(".") + 1, -3)));
  for (const id of before) {
    if (claims.has(id) || !existsSync(`${pit}/done/${id}.md`)) continue;
    if (!isWhole(id)) say({ id, problem: "its claim went before its result was whole" });
  }
  if (!isOver) setImmediate(look);
  else say({ looks });
}
say({ ready: true });
look();
