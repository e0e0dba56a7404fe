import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Receipt } from "../../src/warden/dance.ts";
import { type WardenFiles, wardenFilesIn } from "../../src/warden/warden-files.ts";
import type { WardenEvent } from "../../src/warden/warden-host.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { TmuxServer } from "../support/tmux.ts";

/** A dance is a hundred short programs: seconds on an idle machine, a minute beside ten others at work. */
const VERDICTS_WITHIN_S = 110;
/** For tests that wait for verdicts twice. */
export const DANCES_MS = 2 * VERDICTS_WITHIN_S * 1000 + 20_000;

/** A tmux server with suspects, and wardens as the programs they are. */
export class Scene {
  /** Before the server, which so ends before it is removed. */
  readonly folder = newFolder("viv-warden-");
  readonly tmux = new TmuxServer();
  readonly state = join(this.folder, "warden");
  readonly files: WardenFiles = wardenFilesIn(this.state);

  /** A breaker that never opens, unless the test is about it. */
  constructor(config = "[warden.breaker]\nexecutions = 100\n") {
    writeFileSync(join(this.folder, "viv.toml"), `[warden]\nkill_after = "300ms"\n${config}`);
  }

  script(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** A session that runs this shell script. */
  suspect(name: string, text: string): void {
    this.tmux.session(name, "bash", this.script(`${name}.sh`, text));
  }

  /** As a script would file it: a file with only what is needed. Its stand-ins are marked as to be asked. */
  async file(target: string, more: Record<string, unknown> = {}): Promise<void> {
    if (existsSync(this.tmux.socket)) this.tmux.run("set-option", "-g", "@viv-ask", "on");
    await this.files.file({
      ...{ id: `w-${target}`, target, reason: "no_progress", requester: "deacon", kind: "tmux" },
      ...{ bound: null, watch: [], shell: false, socket: this.tmux.socket, home: null },
      filed_at: new Date().toISOString(),
      ...more,
    });
  }

  up(...flags: string[]): RunningWarden {
    return new RunningWarden(this.folder, ["--state", this.state, ...flags]);
  }

  receipt(target: string): Receipt | undefined {
    return this.files.receipts().find(({ warrant }) => warrant.target === target);
  }

  async verdicts(...targets: string[]): Promise<string[]> {
    const isSo = () => targets.every((target) => this.receipt(target) !== undefined);
    await until(`verdicts on ${targets.join(", ")}`, isSo, VERDICTS_WITHIN_S);
    return targets.map((target) => this.receipt(target)?.verdict ?? "");
  }

  read(name: string): string {
    return readdirSync(this.folder).includes(name)
      ? readFileSync(join(this.folder, name), "utf8")
      : "";
  }
}

export class RunningWarden {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  #text = "";

  constructor(cwd: string, args: readonly string[]) {
    const viv = join(DIST, "viv.cjs");
    this.child = spawn(process.execPath, [viv, "warden", "up", "--json", ...args], { cwd });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding("utf8").on("data", (more: string) => {
        this.#text += more;
      });
    }
    this.ended = new Promise((resolve) => this.child.once("exit", resolve));
    onTestFinished(() => this.kill());
  }

  get events(): WardenEvent[] {
    const lines = this.#text.split("\n").filter((line) => line.startsWith("{"));
    return lines.map((line) => JSON.parse(line) as WardenEvent);
  }

  async says(what: string, test: (event: WardenEvent) => boolean): Promise<void> {
    const isSaid = () => this.events.some(test);
    await until(`the warden says ${what}`, isSaid, VERDICTS_WITHIN_S);
  }

  /** It may have ended. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  async stop(): Promise<number | null> {
    this.child.kill("SIGTERM");
    return this.ended;
  }
}
