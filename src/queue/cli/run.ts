import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import * as z from "zod/mini";
import { formatDuration } from "../../base/duration.ts";
import { VivError } from "../../base/errors.ts";
import type { Command } from "../../operation/command.ts";
import type { Io } from "../../operation/io.ts";
import { plain } from "../../operation/term.ts";
import { doctor, init, reap } from "../operations/run.ts";

const initCommand: Command = {
  op: {
    ...init,
    input: z.strictObject({
      dir: z.optional(z.string().check(z.describe("path of the run (default ./run)"))),
    }),
  },
  positionals: [{ key: "dir" }],
  runFrom: (input, run) => {
    if (typeof input.dir === "string" && run !== undefined) {
      throw new VivError("USAGE", "say where once: viv init DIR, or viv init --run DIR.");
    }
    return typeof input.dir === "string" ? input.dir : (run ?? "run");
  },
  examples: [["viv init ./audit", "later commands here need no --run: .viv-run names the run"]],
  after: (output, _input, io) => {
    const { run_dir } = output as { run_dir: string };
    const path = relative(io.cwd, run_dir) || ".";
    if (isElsewhere(io)) return;
    writeFileSync(join(io.cwd, ".viv-run"), `${path}\n`);
  },
  human: (output: { run_id: string; run_dir: string }, { color }, io) => {
    const made = `${color.green("made")} ${output.run_dir}`;
    const why = isElsewhere(io);
    return why
      ? `${made}\n${color.dim(`commands in this folder still use another one, because of ${why}`)}`
      : `${made}\n${color.dim("commands in this folder use it (.viv-run); try: viv enqueue --type hello")}`;
  },
};

/** What would keep commands here from using the new run. */
function isElsewhere(io: Io): string | null {
  if (io.env.VIV_RUN) return "VIV_RUN";
  const toml = join(io.cwd, "viv.toml");
  if (!existsSync(toml) || !/^\s*run\s*=/m.test(readFileSync(toml, "utf8"))) return null;
  return "the run in viv.toml";
}

type ReapOutput = z.output<typeof reap.output>;

const reapCommand: Command = {
  op: reap,
  examples: [
    ["viv reap", "workers that are dead, or silent for five minutes"],
    ["viv reap --stale-after 60", "silent for a minute"],
  ],
  human: (output: ReapOutput, { color }) => {
    const lines = output.reaped.map(({ worker, id, age_seconds, to, reason }) => {
      const age =
        age_seconds < 0
          ? "no heartbeat"
          : `last heartbeat ${formatDuration(age_seconds * 1000)} ago`;
      const why =
        { gone: "process gone", stale: age, finished: "had finished it" }[reason] ?? reason;
      return `${id}: claimed → ${color.yellow(to)} ${color.dim(`(${worker}: ${why})`)}`;
    });
    for (const { worker, id } of output.skipped) {
      lines.push(`${id}: left with ${worker}, it is in pending/ too; see: viv doctor`);
    }
    for (const { worker, id, pids } of output.stuck) {
      lines.push(`${id}: left with ${worker}, its processes would not die: ${pids.join(", ")}`);
    }
    const more = [
      count(output.promoted, "promoted"),
      count(output.adopted, "adopted"),
      count(output.recovered, "recovered"),
    ].filter((text) => text !== "");
    if (more.length > 0) lines.push(more.join(", "));
    if (lines.length === 0) lines.push(color.dim(`nothing to reap${alive(output.live)}`));
    return lines.join("\n");
  },
};

function count(n: number, what: string): string {
  return n === 0 ? "" : `${n} ${what}`;
}

function alive(live: readonly string[]): string {
  return live.length === 0 ? "" : ` (at work: ${live.join(", ")})`;
}

type DoctorOutput = z.output<typeof doctor.output>;

/** One of them, several of them; states are the same either way. */
const WORDS: Record<string, [string, string]> = {
  workers: ["worker", "workers"],
  ledger: ["ledger line", "ledger lines"],
  temporaries: ["temporary file", "temporary files"],
};

const doctorCommand: Command = {
  op: doctor,
  accessFor: ({ fix }) => (fix ? "write" : "read"),
  examples: [
    ["viv doctor", "exits 1 if something is wrong"],
    ["viv doctor --fix", "repair it; deletes nothing"],
  ],
  exit: ({ healthy }: DoctorOutput) => (healthy ? 0 : 1),
  human: (output: DoctorOutput, { color }) => {
    const looked = Object.entries(output.checked).map(
      ([what, n]) => `${n} ${WORDS[what]?.[n === 1 ? 0 : 1] ?? what}`,
    );
    const lines = output.findings.map(({ code, path, message, repair, fixed }) => {
      const mark = fixed
        ? color.green("fixed")
        : code === "torn_line"
          ? color.dim("noted")
          : color.red("found");
      return `${mark}  ${code}  ${plain(path)}\n       ${plain(message)}\n       ${color.dim(`${fixed ? "did" : "--fix would"}: ${plain(repair)}`)}`;
    });
    if (output.healthy && output.findings.every(({ fixed }) => !fixed))
      lines.push(color.green("healthy"));
    lines.push(color.dim(`looked at ${looked.length > 0 ? looked.join(", ") : "an empty run"}`));
    return lines.join("\n");
  },
};

export const commands = {
  init: initCommand,
  reap: reapCommand,
  doctor: doctorCommand,
} satisfies Record<string, Command>;
