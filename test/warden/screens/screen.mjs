// One program in one tmux session: drives it, and records what it shows. For record.mjs.
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const HERE = dirname(fileURLToPath(import.meta.url));
const SIZES = { 120: 40, 80: 24, 40: 30, 200: 50 };

export const log = "/home/mock.jsonl";
export const ms = delay;
let url = "";
/** The address of the model server in a mode. */
export const at = (mode) => `${url}/${mode}`;

export async function startMock() {
  if (!process.env.MOCK) return;
  writeFileSync(log, "");
  const mock = spawn(process.execPath, [process.env.MOCK, "0", log], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const chunk of mock.stdout) {
    url = `http://127.0.0.1:${/listening (\d+)/.exec(chunk)[1]}`;
    break;
  }
}

export async function tmux(...args) {
  const { stdout } = await run("tmux", ["-u", ...args], { maxBuffer: 1 << 24 });
  return stdout.replace(/\n$/, "");
}

export class Screen {
  constructor(program, cols, version) {
    Object.assign(this, { program, cols, rows: SIZES[cols], version, target: `s${cols}` });
  }
  /** `command` is a shell's line; with `shell` it is typed to a bash that stays. */
  async start(command, { cwd = "/home/user/project", shell = false } = {}) {
    await this.end();
    const size = ["-x", String(this.cols), "-y", String(this.rows)];
    const pane = shell
      ? `exec env PS1="user@host:\\w\\$ " bash --norc --noprofile`
      : `exec env ${command}`;
    await tmux("new-session", "-d", "-s", this.target, ...size, "-c", cwd, pane);
    await tmux("set-option", "-t", this.target, "status", "off");
    await tmux("resize-window", "-t", this.target, ...size);
    if (!shell) return;
    await this.until(/\$ $|# $|\$$|#$/m);
    await this.type(` clear; ${command}`);
    await this.keys("Enter");
  }
  async end() {
    const pid = await tmux("list-panes", "-t", this.target, "-F", "#{pane_pid}").catch(() => "");
    if (!pid) return;
    await tmux("kill-session", "-t", this.target).catch(() => {});
    // gemini outlives its terminal. This namespace has no other processes.
    for (const child of [...(await below(Number(pid))), Number(pid)]) {
      try {
        process.kill(child, "SIGKILL");
      } catch {
        /* it has ended */
      }
    }
    await delay(300);
  }
  keys(...keys) {
    return tmux("send-keys", "-t", this.target, ...keys);
  }
  type(text) {
    return this.keys("-l", text);
  }
  async paste(text) {
    await tmux("set-buffer", "-b", "q", "--", text);
    await tmux("paste-buffer", "-p", "-d", "-b", "q", "-t", this.target);
  }
  text() {
    return tmux("capture-pane", "-p", "-t", this.target);
  }
  /** Until the screen has it, then until it is at rest (or keeps moving). */
  async until(pattern, limit = 30_000) {
    const end = Date.now() + limit;
    for (;;) {
      const text = await this.text().catch(() => "(ended)");
      if (pattern.test(text)) break;
      if (Date.now() > end) {
        console.error(`! ${this.program} ${this.cols}: no ${pattern} within ${limit} ms`);
        return false;
      }
      await delay(100);
    }
    await this.rest();
    return true;
  }
  async rest(quiet = 800, limit = 3_000) {
    const end = Date.now() + limit;
    let last = "";
    let since = Date.now();
    while (Date.now() < end && Date.now() - since < quiet) {
      const text = await this.text().catch(() => "(ended)");
      if (text !== last) since = Date.now();
      last = text;
      await delay(100);
    }
  }
  async record(state) {
    const fields =
      "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_tty} #{pane_current_command}";
    // One command of the server, so that the three are of the same moment.
    const separator = "=== record ===";
    const [head, screen, ansi] = (
      await tmux(
        "display-message",
        "-p",
        "-t",
        this.target,
        fields,
        ";",
        "display-message",
        "-p",
        separator,
        ";",
        "capture-pane",
        "-p",
        "-t",
        this.target,
        ";",
        "display-message",
        "-p",
        separator,
        ";",
        "capture-pane",
        "-p",
        "-e",
        "-t",
        this.target,
      )
    ).split(`\n${separator}\n`);
    const [x, y, visible, alternate, tty, ...command] = head.split(" ");
    const lines = screen.split("\n");
    const fixture = {
      program: this.program,
      version: this.version,
      state,
      cols: this.cols,
      rows: this.rows,
      cursor: { x: Number(x), y: Number(y), visible: visible === "1" },
      alternate: alternate === "1",
      paneCommand: command.join(" "),
      foreground: await foreground(tty),
      changes: await this.#changes(lines),
      screen: lines,
      ansi: ansi.split("\n"),
    };
    mkdirSync(join(HERE, this.program), { recursive: true });
    const file = join(HERE, this.program, `${state}-${this.cols}.json`);
    writeFileSync(file, `${neutral(JSON.stringify(fixture, null, 1))}\n`);
    console.log(`${this.program}/${state}-${this.cols}`);
  }
  async #changes(first) {
    const rows = new Map();
    for (let i = 0; i < 8; i++) {
      await delay(250);
      const now = (await this.text().catch(() => "")).split("\n");
      for (const [row, text] of now.entries()) {
        if (text === first[row]) continue;
        rows.set(row, new Set([...(rows.get(row) ?? []), text]));
      }
    }
    return [...rows].sort(([a], [b]) => a - b).map(([row, texts]) => ({ row, texts: [...texts] }));
  }
}

/** Without the home of the person who records (a Python of theirs, say); as long as before. */
function neutral(text) {
  const home = process.env.RECORD_HOME;
  return home
    ? text.replaceAll(`${home}/`, `${"/home/user".padEnd(home.length, "r").slice(0, home.length)}/`)
    : text;
}

async function ps(...args) {
  const { stdout } = await run("ps", [...args]).catch(() => ({ stdout: "" }));
  return stdout.trim().split("\n").filter(Boolean);
}
async function below(pid) {
  const direct = (await ps("--ppid", String(pid), "-o", "pid=")).map(Number);
  return [...(await Promise.all(direct.map(below))).flat(), ...direct];
}
async function foreground(tty) {
  const found = [];
  for (const line of await ps("-t", tty.replace("/dev/", ""), "-o", "pid=,pgid=,tpgid=")) {
    const [pid, group, front] = line.trim().split(/\s+/);
    if (group !== front) continue;
    try {
      const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
      // A zombie: no process reaps orphans in this namespace.
      if (argv.length === 0) continue;
      found.push({ argv, comm: readFileSync(`/proc/${pid}/comm`, "utf8").trim() });
    } catch {
      /* it has ended */
    }
  }
  return found;
}

/** A fresh folder to work in, as after some work. */
export function project() {
  rmSync("/home/user/project", { recursive: true, force: true });
  mkdirSync("/home/user/project", { recursive: true });
  writeFileSync("/home/user/project/app.py", "def add(a, b):\n    return a - b\n");
  writeFileSync("/home/user/project/README.md", "# Project\n\nThe health check answers ALIVE.\n");
  spawnSync("git", ["init", "-q", "."], { cwd: "/home/user/project" });
}
