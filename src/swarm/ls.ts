import type { Surroundings, Verb } from "./command.ts";
import { runPath } from "./paths.ts";
import { dumps } from "./python.ts";
import { renderRun } from "./render-run.ts";
import { isFolder, namesIn, summarizeRun } from "./summarize-run.ts";
import type { Values } from "./values.ts";

/** One run, or every run below a folder; as text or as JSON. */
export const ls: Verb = async (values, around) => {
  const { stdout } = around;
  const asJson = values.has("--json");
  const runs = runsToShow(values, around);
  if (typeof runs === "number") return runs;
  const summaries = runs.map(summarizeRun);
  if (asJson) {
    stdout.write(`${dumps(summaries, "indented")}\n`);
    return 0;
  }
  const inColor = stdout.isTTY === true && !values.has("--no-color");
  stdout.write(`${summaries.map((summary) => renderRun(summary, inColor)).join("\n\n")}\n`);
  return 0;
};

/** The paths, or the exit status when there is nothing to show and that has been said. */
function runsToShow(values: Values, around: Surroundings): string[] | number {
  const { stdout, stderr, home } = around;
  const asJson = values.has("--json");
  const runDir = values.filled("--run-dir");
  if (runDir !== undefined) return [runPath(runDir, home)];
  const given = values.filled("--root");
  const root = given === undefined ? `${home}/.swarm` : runPath(given, home);
  if (!isFolder(root)) {
    const error = `no swarm root at ${root}`;
    const hint = "pass --run-dir to summarize a specific run";
    if (asJson) stdout.write(`${dumps({ error, hint }, "indented")}\n`);
    else stderr.write(`${error}; ${hint}\n`);
    return 1;
  }
  const runs = namesIn(root)
    .map((name) => `${root}/${name}`)
    .filter(isFolder);
  if (runs.length > 0) return runs;
  if (asJson) stdout.write("[]\n");
  else stderr.write(`no runs under ${root}\n`);
  return 0;
}
