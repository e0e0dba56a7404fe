import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { localChildren } from "./children.ts";
import { localMachine } from "./machine.ts";

const machine = localMachine();
const children = localChildren(machine);

function start(script: string, folder = newFolder()) {
  const lines: string[] = [];
  const child = children.start({
    argv: ["/bin/sh", "-c", script],
    cwd: folder,
    env: { PATH: process.env.PATH ?? "" },
    logPath: join(folder, "logs/child.log"),
    onLine: (line) => lines.push(line),
  });
  return { child, lines, folder, log: () => readFileSync(join(folder, "logs/child.log"), "utf8") };
}

it("runs a program, hears its lines, and keeps all it says", async () => {
  const { child, lines, log } = start(
    "echo one; printf 'two\\nthr'; printf 'ee\\n'; echo oh >&2; exit 3",
  );
  expect(child.process).toMatchObject({ pid: expect.any(Number), boot: machine.bootId() });
  expect(await within("it ends", child.ended)).toEqual({
    exit: 3,
    signal: null,
    lastWords: "oh\n",
  });
  expect(lines).toEqual(["one", "two", "three"]);
  for (const word of ["one", "two", "three", "oh"]) expect(log()).toContain(word);
});

it("hears a character that comes in pieces", async () => {
  const { child, lines, folder, log } = start(
    `printf 'a\\303'; printf '\\360\\237' >&2
     while [ ! -e go ]; do sleep 0.01; done
     printf '\\251z\\n'; printf '\\230\\200' >&2`,
  );
  await until("the first pieces are read", () => {
    return existsSync(join(folder, "logs/child.log")) && Buffer.byteLength(log()) >= 4;
  });
  writeFileSync(join(folder, "go"), "");
  expect(await within("it ends", child.ended)).toMatchObject({ exit: 0, lastWords: "😀" });
  expect(lines).toEqual(["aéz"]);
});

it("knows its process as the machine does", async () => {
  const { child } = start("read forever");
  if (!child.process) throw new Error("it was not started");
  expect(machine.vitality(child.process)).toBe("alive");
  child.kill();
  expect(await within("it ends", child.ended)).toMatchObject({ exit: null, signal: "SIGKILL" });
  expect(machine.vitality(child.process)).toBe("gone");
  child.kill();
  child.ask(); // it is gone, and no other process is signalled
});

it("asks only the program itself, and kills whatever is in its group", async () => {
  const folder = newFolder();
  const script = "trap 'echo asked' TERM; sleep 300 & echo ready; wait; wait";
  const { child, lines } = start(script, folder);
  await until("it is ready", () => lines.includes("ready"));
  child.ask();
  await until("it was asked", () => lines.includes("asked"));
  child.kill();
  await within("it ends", child.ended);
});

it("is heard twice by a program that could not listen in between", async () => {
  const script =
    "trap 'echo once' TERM; trap 'echo twice' INT; echo ready; while :; do sleep 0.05; done";
  const { child, lines } = start(script);
  await until("it is ready", () => lines.includes("ready"));
  const pid = child.process?.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  child.ask();
  child.askAgain();
  process.kill(pid, "SIGCONT");
  await until("it was asked twice", () => lines.includes("once") && lines.includes("twice"));
  child.kill();
  await within("it ends", child.ended);
});

it("gives it a stdin that stays open", async () => {
  const { child, lines } = start("echo ready; read line; echo closed");
  await until("it waits", () => lines.includes("ready"));
  expect(lines).toEqual(["ready"]);
  child.kill();
  await within("it ends", child.ended);
  expect(lines).toEqual(["ready"]);
});

it("does not wait for what it left behind with its pipes", async () => {
  const { child, lines } = start("sleep 300 & echo $!; exit 0");
  expect(await within("it ends", child.ended)).toMatchObject({ exit: 0 });
  process.kill(Number(lines[0]), "SIGKILL");
});

it("reports why a program cannot be started", async () => {
  const folder = newFolder();
  const missing = children.start({
    ...{ argv: ["/no/such/program"], cwd: folder, env: {}, logPath: join(folder, "x.log") },
  });
  expect(missing.process).toBeNull();
  expect((await missing.ended).error).toContain("/no/such/program");
});

it("begins a log anew when it has grown large, and keeps the one before", async () => {
  const folder = newFolder();
  const path = join(folder, "logs/child.log");
  await start("echo first", folder).child.ended;
  writeFileSync(path, "x".repeat(6 * 1024 * 1024));
  await start("echo second", folder).child.ended;
  expect(readFileSync(path, "utf8")).toBe("second\n");
  expect(existsSync(`${path}.1`)).toBe(true);
});
