// Runs the measurements of a suite one after the other and keeps what they found.

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { judge, printTable } from "./table.mjs";
import { makeWorkspace } from "./workspace.mjs";

const results = fileURLToPath(new URL("../results/", import.meta.url));

/** Returns how many targets were missed. */
export async function runSuite(suite, names, { quick, whole, dist, profiles }) {
  const workspace = makeWorkspace();
  const library = pathToFileURL(join(dist, "main.js")).href;
  const { openRun } = await import(library);
  const rows = [];
  const began = Date.now();
  const bench = {
    quick,
    dist,
    library,
    openRun,
    workspace,
    /** Node options for the processes that run our code. */
    execArgv: profiles ? ["--cpu-prof", `--cpu-prof-dir=${profiles}`] : [],
    row(row) {
      rows.push({ ...row, ok: judge(row) });
    },
    progress(text) {
      const seconds = Math.round((Date.now() - began) / 1000);
      console.error(`  ${String(seconds).padStart(4)} s  ${text}`);
    },
  };
  try {
    for (const name of names) {
      console.error(`${suite}/${name}`);
      const { default: measure } = await import(`../${suite}/${name}.mjs`);
      const from = rows.length;
      try {
        await measure(bench);
      } catch (error) {
        // What the others find is still worth having.
        console.error(error);
        bench.row({ measure: name, skipped: `failed: ${error.message}` });
        process.exitCode = 1;
      }
      for (const row of rows.slice(from)) row.measurement = name;
    }
    printTable(rows);
    // Only a whole run is worth keeping in git; .local.json is ignored there.
    const file = join(results, whole ? `${suite}.json` : `${suite}.local.json`);
    keep(file, { suite, quick, ...circumstances(began, workspace), rows });
    console.log(`\n${file}`);
  } finally {
    workspace.remove();
  }
  return rows.filter((row) => row.ok === false).length;
}

function circumstances(began, workspace) {
  return {
    date: new Date(began).toISOString(),
    seconds: Math.round((Date.now() - began) / 1000),
    node: process.version,
    machine: {
      cores: cpus().length,
      cpu: cpus()[0]?.model ?? "unknown",
      os: `${process.platform} ${release()}`,
      filesystem: workspace.filesystem,
      load: loadavg(),
    },
  };
}

function keep(file, result) {
  mkdirSync(results, { recursive: true });
  writeFileSync(file, `${toJson(result)}\n`);
}

/** Indented, but with each list of samples on one line. */
function toJson(value) {
  return JSON.stringify(value, null, 2).replace(/\[[\d\s.,e+-]+\]/g, (list) =>
    list.replace(/\s+/g, " ").replace("[ ", "[").replace(" ]", "]"),
  );
}
