import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import { counted, plural } from "../../base/text.ts";
import { byDefault, type Command } from "../../operation/command.ts";
import { text } from "../../operation/fields.ts";
import type { Io } from "../../operation/io.ts";
import { plain } from "../../operation/term.ts";
import { runLineOf } from "../config-run.ts";
import { doctor, init, pauseOperation, reap, resume } from "../operations/maintenance.ts";
import { pauseLine, workerPauseLine } from "../pause-line.ts";

const initCommand: Command = {
  op: {
    ...init,
    input: z.strictObject({ dir: text("path of the run (default: ./run)") }),
  },
  positionals: [{ key: "dir" }],
  runFrom: (input, run) => {
    if (typeof input.dir !== "string") return run ?? "run";
    if (run === undefined) return input.dir;
    throw new VivError("USAGE", "give the directory once: viv init DIR, or viv init --run DIR.");
  },
  examples: [["viv init ./audit", "later commands here need no --run: .viv-run names the run"]],
  after: (output, _input, io) => {
    const { run_dir } = output as { run_dir: string };
    const path = relative(io.cwd, run_dir) || ".";
    if (settingHere(io) === null) writeFileSync(join(io.cwd, ".viv-run"), `${path}\n`);
  },
  human: ({ run_dir }: z.output<typeof init.output>, { color }, io) => {
    const { by, dir } = settingHere(io) ?? { by: ".viv-run", dir: run_dir };
    const next =
      resolve(io.cwd, dir) === run_dir
        ? `commands in this folder use it (${by}); try: viv enqueue --type hello`
        : `commands in this folder still use another run, because of ${by}`;
    return `${color.green("made")} ${run_dir}\n${color.dim(next)}`;
  },
};

/** The setting by which commands here find their run, without a .viv-run. */
function settingHere(io: Io): { by: string; dir: string } | null {
  if (io.env.VIV_RUN) return { by: "VIV_RUN", dir: io.env.VIV_RUN };
  const toml = join(io.cwd, "viv.toml");
  const text = existsSync(toml) ? readFileSync(toml, "utf8") : "";
  const dir = runLineOf(text);
  return dir === null ? null : { by: "the run in viv.toml", dir };
}

const reapCommand: Command = {
  op: reap,
  examples: [
    ["viv reap", "workers that are dead, or silent for five minutes"],
    ["viv reap --stale-after 1m", "silent for a minute"],
  ],
  human: (output: z.output<typeof reap.output>, { color }) => {
    const lines = output.reaped.map(({ worker, id, age_seconds, to, reason }) => {
      const silence = `last heartbeat ${formatDuration(age_seconds * 1000)} ago`;
      const stale = age_seconds < 0 ? "no heartbeat" : silence;
      const why = { gone: "process gone", stale, finished: "had finished it" }[reason];
      return `${id}: claimed → ${color.yellow(to)} ${color.dim(`(${worker}: ${why})`)}`;
    });
    for (const { worker, id } of output.skipped) {
      lines.push(`${id}: left with ${worker}, it is in pending/ too; see: viv doctor`);
    }
    for (const { worker, id, pids } of output.stuck) {
      lines.push(
        `${id}: left with ${worker}, its ${plural(pids.length, "process")} would not die: ${pids.join(", ")}`,
      );
    }
    const swept = (["promoted", "adopted", "recovered"] as const).filter((key) => output[key] > 0);
    if (swept.length > 0) lines.push(swept.map((key) => `${output[key]} ${key}`).join(", "));
    if (lines.length > 0) return lines.join("\n");
    const live = output.live.length > 0 ? ` (at work: ${output.live.join(", ")})` : "";
    return color.dim(`nothing to reap${live}`);
  },
};

const pauseCommand: Command = {
  op: pauseOperation,
  defaults: byDefault,
  examples: [
    ['viv pause --note "the build machine is down"', "paused.json in the run says it"],
    ["viv pause --worker worker-2", "it ends its task and claims nothing more"],
  ],
  human: (
    { worker, paused, running }: z.output<typeof pauseOperation.output>,
    { color },
    { now },
  ) => {
    const rest =
      running > 0 ? `\n${counted(running, "task")} still running: viv ls --state claimed` : "";
    const line =
      worker === null ? pauseLine(paused, now()) : workerPauseLine(worker, paused, now());
    return `${color.yellow(plain(line))}${color.dim(rest)}`;
  },
};

const resumeCommand: Command = {
  op: resume,
  defaults: byDefault,
  examples: [
    ["viv resume", "workers go on at once"],
    ["viv resume --worker worker-2", ""],
  ],
  human: ({ worker, was }: z.output<typeof resume.output>, { color }, { now }) => {
    if (was === null) return color.dim(`${worker ?? "the run"} was not paused`);
    const since = formatDuration(now() - Date.parse(was.at));
    return `${color.green("resumed")} ${color.dim(`after ${since}, paused by ${plain(was.by)}`)}`;
  },
};

/** The nouns among the keys; the others are states. */
const NOUNS: Record<string, string> = {
  workers: "worker",
  ledger: "ledger line",
  temporaries: "temporary file",
};

const doctorCommand: Command = {
  op: doctor,
  examples: [
    ["viv doctor", "exits 1 if something is wrong"],
    ["viv doctor --fix", "repair it; deletes nothing"],
  ],
  exit: ({ healthy }: z.output<typeof doctor.output>) => (healthy ? 0 : 1),
  human: ({ healthy, findings, checked }: z.output<typeof doctor.output>, { color }) => {
    const lines = findings.map(({ code, path, message, repair, fixed }) => {
      const found = code === "torn_line" ? color.dim("noted") : color.red("found");
      const mark = fixed ? color.green("fixed") : found;
      const step = color.dim(`${fixed ? "did" : "--fix would"}: ${plain(repair)}`);
      return `${mark}  ${code}  ${plain(path)}\n       ${plain(message)}\n       ${step}`;
    });
    if (healthy && findings.every(({ fixed }) => !fixed)) lines.push(color.green("healthy"));
    const looked = Object.entries(checked).map(([key, n]) =>
      NOUNS[key] === undefined ? `${n} ${key}` : counted(n, NOUNS[key]),
    );
    lines.push(color.dim(`looked at ${looked.length > 0 ? looked.join(", ") : "an empty run"}`));
    return lines.join("\n");
  },
};

export const commands = {
  init: initCommand,
  pause: pauseCommand,
  resume: resumeCommand,
  reap: reapCommand,
  doctor: doctorCommand,
} satisfies Record<string, Command>;
