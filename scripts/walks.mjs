// How far one looks to follow one thing: the files and rooms that a real run executes, by coverage.
// node scripts/walks.mjs [--files]: enqueue → work → proof → done; a crew's tick; a warrant to its receipt.

import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { root, run, tool } from "./run.mjs";

const work = mkdtempSync(join(tmpdir(), "viv-walks-"));
const dist = join(work, "dist");
const viv = join(dist, "viv.cjs");

const walks = {
  "enqueue → work → proof → done": async (call) => {
    writeFileSync(join(work, "handle.sh"), '#!/bin/sh\necho done >"$VIV_ARTIFACT_PATH"\n');
    chmodSync(join(work, "handle.sh"), 0o755);
    call("enqueue", "--run", "run", "--type", "t", "--id", "a", "--done-when", "true");
    call("work", "--run", "run", "--handler", "./handle.sh", "--drain");
  },
  "a crew's tick": async (_, start) => {
    const member = ":PROPERTIES:\n:DEF: moss.md\n:ENGINE: exec\n:COMMAND: true\n:END:\n";
    writeFileSync(join(work, "crew.org"), `#+TITLE: crew\n* moss\n${member}`);
    writeFileSync(join(work, "moss.md"), "You are moss.\n");
    await start(/moss done/, "crew", "up", "crew.org", "--grace", "0s", "--stagger", "0s");
  },
  "warrant → dance → receipt": async (call, start) => {
    const suspect = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
    call("warrant", "file", "--pid", String(suspect.pid), "--by", "walks");
    await start(/executed/, "warden", "up", "--timeouts", "200ms");
    suspect.kill("SIGKILL");
  },
};

const rows = [];
try {
  const bundled = run(
    tool("rolldown"),
    ["--config", "rolldown.config.mjs", "--dir", dist, "--sourcemap"],
    {
      stdio: ["ignore", "ignore", 2],
    },
  );
  if (bundled !== 0) throw new Error("the bundle failed");
  for (const [name, walk] of Object.entries(walks)) rows.push(await measured(name, walk));
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.table(rows.map(({ files: _, ...row }) => row));
if (process.argv.includes("--files"))
  for (const { walk, files } of rows) console.log(`\n${walk}\n${files.join("\n")}`);

async function measured(walk, act) {
  const coverage = join(work, `coverage-${rows.length}`);
  const env = {
    PATH: process.env.PATH,
    HOME: work,
    VIV_STATE: join(work, "state"),
    NODE_V8_COVERAGE: coverage,
  };
  const options = { cwd: work, env, encoding: "utf8" };
  const call = (...args) => {
    const { status, stderr } = spawnSync(process.execPath, [viv, ...args], options);
    if (status !== 0) throw new Error(`viv ${args.join(" ")} ended with ${status}: ${stderr}`);
  };
  const start = (until, ...args) =>
    new Promise((done, fail) => {
      const child = spawn(process.execPath, [viv, ...args], {
        ...options,
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = "";
      let isStopped = false;
      child.stdout.on("data", (text) => {
        said += text;
        if (until.test(said) && !isStopped) isStopped = child.kill("SIGTERM");
      });
      child.on("close", () =>
        until.test(said) ? done() : fail(new Error(`viv ${args.join(" ")} said: ${said}`)),
      );
    });
  await act(call, start);
  const files = executedIn(coverage);
  const rooms = new Set(files.map((file) => file.split("/")[1]));
  return {
    walk,
    files,
    "files executed": files.length,
    rooms: rooms.size,
    "room by room": [...rooms].join(" "),
  };
}

/** Source files of which a function ran; that a module was loaded does not count. */
function executedIn(coverage) {
  const files = new Set();
  const maps = new Map();
  for (const name of readdirSync(coverage)) {
    const { result } = JSON.parse(readFileSync(join(coverage, name), "utf8"));
    for (const { url, functions } of result) {
      if (!url.startsWith(`file://${dist}`)) continue;
      const path = fileURLToPath(url);
      if (!maps.has(path)) maps.set(path, mapOf(path));
      const positionOf = maps.get(path);
      for (const { functionName, ranges } of functions) {
        if (functionName === "" && ranges[0].startOffset === 0) continue;
        if (ranges[0].count === 0) continue;
        const file = positionOf?.(ranges[0].startOffset);
        if (file?.startsWith("src/")) files.add(file);
      }
    }
  }
  return [...files].sort();
}

function mapOf(path) {
  if (!existsSync(`${path}.map`)) return null;
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
  const text = readFileSync(path, "utf8");
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    let column = offset - starts[line];
    // The program's wrapper adds nothing to offsets; a function's first mapping may come a bit later.
    for (let tries = 0; tries < 3; tries++, column += 9) {
      const { originalSource } = map.findEntry(line, column);
      if (originalSource) return relative(root, resolve(dirname(path), originalSource));
    }
    return null;
  };
}
