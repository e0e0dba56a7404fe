import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { plain } from "../operation/term.ts";
import { runCli } from "./cli.ts";
import { takeGoodConfig } from "./good-config.ts";
import { portsHere } from "./ports.ts";

/** `viv`: the command line, given the real surroundings. */
const stop = new AbortController();
const urgent = new AbortController();
let isHeard = false;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  // The first signal lets a stream end in order; the next is the user's last word, except that a
  // worker still releases what it holds.
  process.on(name, () => {
    if (!stop.signal.aborted) stop.abort();
    else if (isHeard && !urgent.signal.aborted) urgent.abort();
    else process.exit({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[name]);
  });
}
// A reader that closed its end (viv ls | head) is not an error. A worker has tasks to finish first.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (isHeard) stop.abort();
  else process.exit(0);
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error; // the message is lost; the status still counts
});

const goodConfig = takeGoodConfig(process.env);
const cwd = folderHere();

void runCli({
  goodConfig,
  argv: process.argv.slice(2),
  env: process.env,
  cwd,
  stdout: process.stdout,
  stderr: process.stderr,
  get stdin() {
    return process.stdin;
  },
  onStdinClosed: (act) => {
    const { stdin } = process;
    // As the first signal: the next one is the last word.
    const close = () => {
      stop.abort();
      act();
    };
    // Any of these: it has no writer left.
    for (const end of ["end", "error", "close"]) stdin.once(end, close);
    stdin.resume();
    if ("unref" in stdin) stdin.unref();
  },
  signal: stop.signal,
  urgent: urgent.signal,
  hearUrgent: () => {
    isHeard = true;
  },
  now: Date.now,
  open: async (path, options) => {
    const store = await (await import("./open-run.ts")).openRun(path, options);
    const { noteRun } = await import("./note-run.ts");
    noteRun(store.location, process.env, cwd, Date.now());
    return store;
  },
  provide: portsHere({
    env: process.env,
    cwd,
    program: {
      node: process.execPath,
      viv: fileURLToPath(import.meta.url),
      unitFiles: async () => (await import("../platform/systemd/unit-files.ts")).unitFiles,
    },
    ask: async (question) => {
      const { askOnTerminal } = await import("../operation/ask.ts");
      return askOnTerminal(process, question, stop.signal);
    },
    ownsTerminal: true,
    notice: (sentence) => void process.stderr.write(`viv: ${plain(sentence)}\n`),
  }),
  flags: (command) => {
    try {
      return JSON.parse(readFileSync(new URL("./flags.json", import.meta.url), "utf8"))[command];
    } catch {
      return undefined; // run from its sources
    }
  },
  demo: async (args) => {
    const { chooseDemo } = await import("./choose-demo.ts");
    return chooseDemo(args, fileURLToPath(import.meta.url), stop.signal);
  },
}).then((status) => {
  process.exitCode = status;
});

/** Each path that is given is read from here on. */
function folderHere(): string {
  try {
    return process.cwd();
  } catch {
    process.stderr.write("viv: the folder that you are in was removed; go to another one: cd ~\n");
    process.exit(3);
  }
}
