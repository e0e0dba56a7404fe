import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Receipt } from "../../src/warden/dance.ts";
import { quoted } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { type RunningWarden, Scene } from "../warden/support.ts";
import { MODELS, type Program, type Vendors } from "./support.ts";

/** A vendor's terminal program in a tmux session of its own, and a warden that knows it. */
export class Terminal {
  readonly scene: Scene;
  readonly program: Program;
  /** The address of its model: what server.work() and server.become() want. */
  readonly mode: string;
  readonly folder: string;
  readonly #vendors: Vendors;

  private constructor(vendors: Vendors, program: Program, mode: string) {
    this.#vendors = vendors;
    this.program = program;
    this.mode = `${mode}+tag=t${++terminals}`;
    this.folder = vendors.newFolder(`${program}-tui`);
    this.scene = new Scene();
  }

  /**
   * Resolves when its input box is there. `permission`: whether it asks its person before it runs a
   * command, or runs everything.
   */
  static async open(
    vendors: Vendors,
    program: Program,
    mode: string,
    permission: "asks" | "runs all" = "asks",
  ): Promise<Terminal> {
    const terminal = new Terminal(vendors, program, mode);
    const { folder, scene } = terminal;
    vendors.trust(folder, terminal.mode);
    const env = { ...vendors.env, ...vendors.envOf(program, terminal.mode) };
    if (program === "opencode")
      env.OPENCODE_PERMISSION = permission === "asks" ? '{"bash":"ask"}' : '{"bash":"allow"}';
    const argv = [
      program,
      ...FLAGS[program][permission],
      ...vendors.flagsOf(program, terminal.mode),
    ];
    // Of the environment only what the terminal itself is comes along.
    const keep = 'TERM="$TERM" TMUX="$TMUX" TMUX_PANE="$TMUX_PANE"';
    const given = Object.entries(env).map(([name, value]) => quoted(`${name}=${value}`));
    const command = `exec env -i ${keep} ${given.join(" ")} ${argv.map(quoted).join(" ")}`;
    scene.tmux.session(program, "sh", "-c", `cd ${quoted(folder)} && git init -q . && ${command}`);
    await terminal.shows(READY[program], 120);
    await terminal.settles();
    return terminal;
  }

  screen(): string {
    return this.scene.tmux.run("capture-pane", "-p", "-J", "-t", this.program);
  }

  /** Its screen without empty lines. */
  shown(screen = this.screen()): string {
    return screen.replace(/\n\s*\n+/g, "\n");
  }

  async shows(pattern: RegExp, seconds = 60): Promise<void> {
    let last = "";
    const look = () => {
      last = this.screen();
      return pattern.test(last);
    };
    await until(`${this.program} shows ${pattern}`, look, seconds).catch((error: Error) => {
      throw new Error(`${error.message}; it shows\n${this.shown(last)}`);
    });
  }

  /** Until some looks in a row see the same: programs draw in several strokes, and take an Enter that
   * comes right after a text for a part of it. */
  async settles(): Promise<void> {
    let last = "";
    let same = 0;
    await until(`${this.program} settles`, () => {
      const now = this.screen();
      same = now === last ? same + 1 : 0;
      last = now;
      return same >= 30;
    });
  }

  /** Without Enter; resolves when it is in the box. */
  async type(text: string): Promise<void> {
    this.scene.tmux.run("send-keys", "-t", this.program, "-l", text);
    await this.shows(new RegExp(text));
    await this.settles();
  }

  /** Gives it work; resolves when the model has been asked. */
  async prompt(text: string): Promise<void> {
    await this.type(text);
    this.scene.tmux.run("send-keys", "-t", this.program, "Enter");
    const { server } = this.#vendors;
    await until(
      `${this.program} asks its model`,
      () => server.work(this.mode).some(({ fresh }) => fresh?.includes(text)),
      120,
    );
  }

  /** A new warrant for it. */
  file(more: Record<string, unknown> = {}): Promise<void> {
    return this.scene.file(this.program, { id: `w-${this.program}-${++warrants}`, ...more });
  }

  receipts(): Receipt[] {
    return this.scene.files.receipts();
  }

  /** Resolves when this many warrants have a receipt; the latest. */
  async receipt(count = 1, seconds = 120): Promise<Receipt> {
    await until(`${count} receipts`, () => this.receipts().length >= count, seconds).catch(
      (error: Error) => {
        const dances = JSON.stringify(this.scene.files.dances());
        throw new Error(`${error.message}; dances: ${dances}; it shows\n${this.shown()}`);
      },
    );
    const newest = this.receipts()
      .toSorted((a, b) => a.ended_at.localeCompare(b.ended_at))
      .at(-1);
    if (newest === undefined) throw new Error("no receipt");
    return newest;
  }

  /**
   * Resolves when the warden is done with it for now: it has a receipt, or it was reported as one
   * that waits for its person, or is busy with one.
   */
  async reported(warden: RunningWarden, seconds = 120): Promise<string> {
    const said = () =>
      [...this.receipts(), ...warden.events.filter(({ kind }) => !DANCING.includes(kind))]
        .map((one) => JSON.stringify(one))
        .join("\n");
    await until(
      `the warden reports ${this.program}`,
      () => this.receipts().length > 0 || PERSON.test(said()),
      seconds,
    );
    return said();
  }

  get lives(): boolean {
    return this.scene.tmux.has(this.program);
  }

  has(file: string): boolean {
    return existsSync(join(this.folder, file));
  }
}

let terminals = 0;
let warrants = 0;

/** What the warden says of every dance. */
const DANCING = ["up", "begins", "resumes", "asked", "stopped"];
/** The report about one that waits for, or works with, its person. */
export const PERSON = /needs you|(waits|waiting) for (a|its) person|a person (is )?at work/i;

const READY: Record<Program, RegExp> = {
  claude: /^❯/m,
  codex: /^› /m,
  gemini: /Type your message/,
  opencode: /Ask anything/,
};

/** Each one asks its person for leave to run a command. */
export const DIALOG: Record<Program, RegExp> = {
  claude: /Do you want to proceed\?/,
  codex: /Would you like to run the following command\?/,
  gemini: /Allow execution of/,
  opencode: /Permission required/,
};

const FLAGS: Record<Program, Record<"asks" | "runs all", string[]>> = {
  claude: {
    asks: ["--permission-mode", "default"],
    "runs all": ["--permission-mode", "default", "--allowedTools", "Bash"],
  },
  codex: {
    asks: ["-a", "on-request", "-s", "read-only", "-m", MODELS.codex],
    "runs all": ["-a", "never", "-s", "danger-full-access", "-m", MODELS.codex],
  },
  gemini: {
    asks: ["--model", MODELS.gemini],
    "runs all": ["--model", MODELS.gemini, "--approval-mode", "yolo"],
  },
  opencode: {
    asks: ["--model", MODELS.opencode],
    "runs all": ["--model", MODELS.opencode],
  },
};
