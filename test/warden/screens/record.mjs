// Records what terminal programs show in tmux, as fixtures for the tests of the warden's recogniser.
//
//   AGENTS=DIR MOCK=FILE WORK=DIR node test/warden/screens/record.mjs PROGRAM [SCENE[-COLS]…]
//
//   PROGRAM  claude, codex, gemini, opencode (scenes.mjs), plain (plain.mjs: shells, REPLs, pagers …)
//   SCENE    a scene of the program; all of them, at all their sizes, if none is named
//   AGENTS   where the vendors' programs are installed: npm i --prefix DIR @anthropic-ai/claude-code
//            @openai/codex @google/gemini-cli opencode-ai
//   MOCK     a model server, started as `node FILE 0 LOG`; it prints "listening PORT", and the first
//            part of an address' path is its mode (ok, alive, hang, sleep=N, write, patch, escalate, 429 …)
//   WORK     an empty folder of your own, not below /tmp
//
// It needs Linux, root (or the right to make namespaces), tmux and util-linux' unshare. Everything
// runs in a namespace of its own, in which /home is WORK/PROGRAM and /home/lib is AGENTS: no path of
// your machine gets into a fixture, no login of yours is used, and all it started ends with it.
//
// A fixture is PROGRAM/STATE-COLS.json; see `record` for its fields. In `ansi`, attributes go on from
// one line to the next, as tmux writes them. `changes` are rows that changed by themselves within two
// seconds, and what they said (spinners, clocks, tips). Look at a new fixture before you keep it: a
// scene that met another screen than it waited for says so on stderr, and records what was there.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { project, Screen, startMock, tmux } from "./screen.mjs";

const [program, ...wanted] = process.argv.slice(2);

if (process.env.RECORD_INSIDE !== "yes") enterNamespace();

/** Starts this script again where /home, the processes and the environment are its own. */
function enterNamespace() {
  const { AGENTS = "", MOCK = "", WORK = "", PATH } = process.env;
  if (!program || !WORK || (program !== "plain" && (!AGENTS || !MOCK))) {
    console.error("usage: AGENTS=DIR MOCK=FILE WORK=DIR record.mjs PROGRAM [SCENE[-COLS]…]");
    process.exit(2);
  }
  const home = resolve(WORK, program);
  for (const folder of ["user", "lib", "tmux"]) mkdirSync(join(home, folder), { recursive: true });
  const script = `mount --bind "$1" /home && { [ -z "$2" ] || mount --bind "$2" /home/lib; } && shift 2 && exec "$@"`;
  const inside = ["sh", "-c", script, "sh", home, AGENTS && resolve(AGENTS)];
  const { status } = spawnSync(
    "unshare",
    [
      "-m",
      "-p",
      "-f",
      "--mount-proc",
      "--kill-child",
      ...inside,
      process.execPath,
      ...process.argv.slice(1),
    ],
    {
      stdio: "inherit",
      cwd: home,
      env: {
        PATH: `/home/lib/node_modules/.bin:${PATH}`,
        HOME: "/home/user",
        TMUX_TMPDIR: "/home/tmux",
        LC_ALL: "C.UTF-8",
        TERM: "xterm-256color",
        SHELL: "/bin/bash",
        USER: "user",
        MOCK: MOCK && resolve(MOCK),
        RECORD_INSIDE: "yes",
        RECORD_HOME: process.env.HOME ?? "",
      },
    },
  );
  process.exit(status ?? 1);
}

async function main() {
  await startMock();
  // A session that stays keeps the server, and with it its options.
  await tmux("-f", "/dev/null", "new-session", "-d", "-s", "keep", "sleep 100000");
  const { scenes, version } =
    program === "plain" ? await import("./plain.mjs") : await import("./scenes.mjs");
  const known = await version(program);
  for (const [name, { sizes = [120], play }] of Object.entries(scenes(program))) {
    for (const cols of sizes) {
      if (wanted.length > 0 && !wanted.includes(name) && !wanted.includes(`${name}-${cols}`))
        continue;
      project();
      const screen = new Screen(program, cols, known);
      try {
        await play(screen);
      } catch (error) {
        console.error(`! ${program} ${name}-${cols}: ${error.stack}`);
      }
      await screen.end();
    }
  }
  await tmux("kill-server").catch(() => {});
  process.exit(0);
}
await main();
