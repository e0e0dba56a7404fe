import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { newFolder } from "../support/folders.ts";
import { VivLoop } from "../support/viv-loop.ts";

/**
 * Whatever lies where a state file should be, in each place: a command does its work, or says in a
 * sentence why not. It neither waits nor is a bug. (Files of a run: test/crash/, src/queue/.)
 */

const isRoot = process.getuid?.() === 0;

const KINDS: Record<string, (path: string) => void> = {
  "a pipe": (path) => execFileSync("mkfifo", [path]),
  "a link to a device": (path) => symlinkSync("/dev/zero", path),
  "a folder": (path) => mkdirSync(join(path, "in", "it"), { recursive: true }),
  "no text": (path) => writeFileSync(path, Buffer.from([0, 255, 254, 10, 27, 91, 50, 74, 128, 10])),
  ...(isRoot ? { "a device": (path: string) => execFileSync("mknod", [path, "c", "1", "5"]) } : {}),
};
if (!isRoot) console.log("not root: no device is made");

interface Place {
  folder: string;
  env: Record<string, string>;
}

interface System {
  /** Makes the surroundings, with all state there is once. */
  make(): Place;
  /** From the folder. */
  files: readonly string[];
  commands: readonly (readonly string[])[];
}

function place(): Place {
  const folder = newFolder("viv-hostile-");
  return { folder, env: { VIV_STATE: join(folder, "state"), HOME: folder } };
}

const CREW = `* moss
:PROPERTIES:
:DEF: moss.org
:COMMAND: cat >/dev/null; echo '{"tool":"a","target":"b"}' >>"$VIV_STEPS"; echo done
:RUN-IF: true
:LIFECYCLE: life.org
:END:
`;
const LIFE = "#+START: day\n* day\n:PROPERTIES:\n:KIND: wake\n:END:\n";

const SYSTEMS: Record<string, System> = {
  crew: {
    make: () => {
      const here = place();
      const files = { "crew.org": CREW, "moss.org": "work", "life.org": LIFE };
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(here.folder, name), text);
      }
      for (const one of ["runs", "paused", "inbox", "outbox"]) {
        mkdirSync(join(here.folder, ".crew", one), { recursive: true });
      }
      const manifest = join(here.folder, "crew.org");
      const crew = { ...{ host: "h", boot: "b", pid: 1, started: "1", manifest, port: null } };
      const state = { ...crew, singleton: false, members: ["moss"], since: new Date(0) };
      writeFileSync(join(here.folder, ".crew/crew.json"), JSON.stringify(state));
      return here;
    },
    files: [
      ...["keeper-last-run-moss", "lifecycle-pos-moss", "lifecycle-ran-moss-day"],
      ...["status-moss.json", "_steps.jsonl", "_steps.1.jsonl", "gate.json", "crew.json", ".lock"],
      ...["question-moss.txt", "run-if-moss.log", "steps", "runs", "inbox", "outbox", "paused"],
      ...["inbox/x.json", "outbox/x.json"],
    ].map((name) => `.crew/${name}`),
    commands: [
      ["crew", "tick", "moss"],
      ["crew", "ps"],
    ],
  },
  "gate and accounts": {
    make: () => {
      const here = place();
      for (const name of ["gate/tickets", "accounts"]) {
        mkdirSync(join(here.folder, "state", name), { recursive: true });
      }
      return here;
    },
    files: [
      ...["gate/max", "gate/.lock", "gate/tickets", "gate/tickets/h-1-x", "gate/tickets/w-2-y"],
      ...["accounts/claude.json", "accounts/.claude.lock", "accounts/.claude.new", "gate/.max.new"],
    ].map((name) => `state/${name}`),
    commands: [
      ["gate", "--max", "3"],
      ["accounts", "close", "claude", "--for", "1m"],
      ["accounts"],
    ],
  },
  warden: {
    make: () => {
      const here = place();
      const folders = "warrants active completed epitaphs inbox untold rejected answers questions";
      for (const name of folders.split(" ")) {
        mkdirSync(join(here.folder, "state/warden", name), { recursive: true });
      }
      return here;
    },
    files: [
      ...["warrants/w-1.json", "active/dog-1.json", "active/dog-1.done", "completed/dog-1.json"],
      ...["epitaphs/w-1.md", "untold/dog-1", "answers/abcd23", "observed.jsonl", "paused"],
      ...["resumed", "warden.json", ".files", "warrants", "active", "completed", "inbox"],
    ].map((name) => `state/warden/${name}`),
    commands: [
      ["warrant", "file", "--pid", String(process.pid), "--reason", "x"],
      ["warden", "status"],
      ["epitaph", "w-1"],
    ],
  },
  board: {
    make: () => {
      const here = place();
      const text = "#+TODO: TODO DOING | DONE\n* TODO one\n* TODO two\n";
      writeFileSync(join(here.folder, "board.org"), text);
      const git = (...args: string[]) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
          ...{ cwd: here.folder, stdio: "ignore" },
        });
      git("init", "-q");
      git("add", "board.org");
      git("commit", "-qm", "board");
      mkdirSync(join(here.folder, ".git/viv-board"), { mode: 0o755 });
      return here;
    },
    files: [".git/viv-board", ".git/viv-board/1-00000000.json", ".git/viv-board/1-00000000.new"],
    commands: [
      ["board", "claim", "one", "--agent", "a"],
      ["board", "ls"],
    ],
  },
};

/** Of one process each: several files are tried at once. */
const LOOPS = [new VivLoop(), new VivLoop(), new VivLoop()];
afterAll(() => {
  for (const loop of LOOPS) loop.close();
});

/** Null as the status: it hung, and was ended. */
function run(args: readonly string[], { folder, env }: Place, [loop] = LOOPS) {
  return (loop as VivLoop).run({ args, cwd: folder, env: { PATH: process.env.PATH, ...env } });
}

async function check(kind: string, system: System, file: string, loop: VivLoop): Promise<string[]> {
  const here = system.make();
  const path = join(here.folder, file);
  if (existsSync(path)) rmSync(path, { recursive: true });
  mkdirSync(dirname(path), { recursive: true });
  KINDS[kind]?.(path);
  const bad: string[] = [];
  for (const command of system.commands) {
    const { status, text } = await run(command, here, [loop]);
    const isBug = status === 70 || /\bbug in viv\b|^\s+at .*:\d+:\d+\)?$/m.test(text);
    if (status === null) bad.push(`${file} is ${kind}: viv ${command.join(" ")} hangs`);
    else if (isBug) bad.push(`${file} is ${kind}: viv ${command.join(" ")}: ${text.slice(0, 300)}`);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    if (/\u001b/.test(text)) bad.push(`${file} is ${kind}: an escape is written`);
  }
  return bad;
}

for (const [name, system] of Object.entries(SYSTEMS)) {
  test(`${name}: the commands do their work where nothing is wrong`, async () => {
    const here = system.make();
    for (const command of system.commands) {
      const { status, text } = await run(command, here);
      const isDone = status === 0 || (command[0] === "epitaph" && status === 3);
      expect({ command, isDone, text }).toMatchObject({ isDone: true });
    }
  });

  for (const kind of Object.keys(KINDS)) {
    test(`${name}: ${kind} in each place is repaired, or told`, async () => {
      const left = [...system.files];
      const bad: string[] = [];
      const worker = async (loop: VivLoop) => {
        for (let file = left.pop(); file !== undefined; file = left.pop()) {
          bad.push(...(await check(kind, system, file, loop)));
        }
      };
      await Promise.all(LOOPS.map(worker));
      expect(bad).toEqual([]);
    });
  }
}

test("a board's notes are for its user alone, also where an earlier version made the folder", async () => {
  const here = (SYSTEMS.board as System).make();
  const folder = join(here.folder, ".git/viv-board");
  chmodSync(folder, 0o755);
  expect(await run(["board", "claim", "one", "--agent", "a"], here)).toMatchObject({ status: 0 });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  rmSync(folder, { recursive: true });
  expect(await run(["board", "claim", "two", "--agent", "a"], here)).toMatchObject({ status: 0 });
  expect(lstatSync(folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder)).toEqual([]);
});

test("a socket where a lock should be is told", async () => {
  const here = (SYSTEMS["gate and accounts"] as System).make();
  const server = createServer().listen(join(here.folder, "state/gate/.lock"));
  onTestFinished(() => void server.close());
  const { status, text } = await run(["gate", "--max", "3"], here);
  expect(text).toContain("gate/.lock is no plain file; remove it");
  expect(status).not.toBe(70);
});
