import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { Outage } from "../../../test/support/outage.ts";
import { endNow, isAlive, newQuestion, warrantFor } from "../../../test/support/tmux.ts";
import { localMachine } from "../../platform/processes/machine.ts";
import type { Resolved } from "../resolve.ts";
import { wardenFilesIn } from "../warden-files.ts";
import type { BoundProcess, Warrant } from "../warrant.ts";
import { type SuspectsOptions, suspectsFor } from "./find-suspects.ts";
import { bindPid } from "./process-suspect.ts";

const machine = localMachine();

function start(...argv: [string, ...string[]]): ChildProcess & { pid: number } {
  const [file, ...args] = argv;
  const child = spawn(file, args, { detached: true, stdio: "ignore" });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // it is gone already
    }
  });
  return child as ChildProcess & { pid: number };
}

type Resolve = SuspectsOptions["resolve"];

function suspects(given: Partial<SuspectsOptions> = {}) {
  return suspectsFor({
    machine,
    files: wardenFilesIn(newFolder()),
    resolve: async () => ({ is: "unknown", why: "no lookup was expected" }),
    ...given,
  });
}

const find = (given: Partial<Warrant>, options?: Partial<SuspectsOptions>) =>
  suspects(options).find(warrantFor({ kind: "pid", ...given }));

async function found(given: Partial<Warrant>, options?: Partial<SuspectsOptions>) {
  const result = await find(given, options);
  if (result.is !== "there") throw new Error(`${result.is}: ${result.why}`);
  onTestFinished(() => result.suspect.close());
  return result.suspect;
}

function boundOf(pid: number): BoundProcess {
  const now = bindPid(pid, machine);
  if (now.is !== "there") throw new Error(now.why);
  return now.bound;
}

test.each(["0", "1", "-5", "abc", "1.5", "", " 7", "0x10", "99999999999", "2"])(
  "%j is no process to be ended",
  async (target) => {
    expect(await find({ target })).toMatchObject({ is: expect.stringMatching(/unknown|gone/) });
    if (!["2", "99999999999"].includes(target)) {
      expect(await find({ target })).toMatchObject({ is: "unknown" });
    }
  },
);

test("a process that has ended is gone", async () => {
  const { pid } = start("sleep", "1000");
  const bound = boundOf(pid);
  process.kill(pid, "SIGKILL");
  await until("it is gone", () => !isAlive(pid));
  expect(await find({ target: String(pid), bound })).toMatchObject({ is: "gone" });
  expect(await find({ target: String(pid) })).toMatchObject({ is: "gone" });
  expect(bindPid(pid, machine)).toMatchObject({ is: "gone" });
});

test("a process with a reused pid is unknown, and is not ended", async () => {
  const { pid } = start("sleep", "1000");
  const bound = boundOf(pid);
  for (const other of [{ started: "1" }, { boot: "an older one" }, { host: "another" }]) {
    expect(await find({ target: String(pid), bound: { ...bound, ...other } })).toMatchObject({
      is: "unknown",
    });
  }
  expect(isAlive(pid)).toBe(true);
});

test("a process that is younger than the warrant was not meant", async () => {
  const { pid } = start("sleep", "1000");
  const filed_at = new Date(Date.now() - 60_000).toISOString();
  expect(await find({ target: String(pid), filed_at })).toMatchObject({ is: "unknown" });
  expect(await find({ target: String(pid) })).toMatchObject({ is: "there" });
});

test("the warden and its ancestors are unknown", async () => {
  for (const pid of [process.pid, process.ppid]) {
    expect(await find({ target: String(pid), bound: boundOf(pid) })).toMatchObject({
      is: "unknown",
      why: expect.stringContaining("warden"),
    });
  }
});

test("the question is a file, and its answer is seen, also after a crash", async () => {
  const { pid } = start("sleep", "1000");
  const files = wardenFilesIn(newFolder());
  const warrant = { id: "w", target: String(pid) };
  const suspect = await found(warrant, { files });
  const file = join(files.folder, "questions", "w.txt");
  const asked = { is: "asked", channel: file };
  expect(await suspect.ask(newQuestion({ nonce: "n-1" }))).toEqual(asked);
  expect(await suspect.ask(newQuestion({ nonce: "n-1" }))).toEqual(asked);
  expect(readFileSync(file, "utf8")).toBe(
    `${newQuestion({ nonce: "n-1" }).lines.join("\n")}\nTo answer, run: viv alive n-1 --state-dir ${files.folder}\n`,
  );
  const { bound } = suspect;
  const unanswered = { is: "there", screen: [], files: {}, answers: [] };
  expect(await suspect.look()).toEqual(unanswered);
  mkdirSync(join(files.folder, "answers"));
  files.answer("n-1", JSON.stringify({ nonce: "n-1", ...bound, chain: [] }));
  expect(await suspect.look()).toEqual(unanswered);
  files.answer("n-1", JSON.stringify({ nonce: "n-1", ...bound, chain: [bound] }));
  expect(await suspect.look()).toMatchObject({ answers: ["n-1"] });
  const after = await found({ ...warrant, bound }, { files });
  expect(await after.look()).toMatchObject({ answers: ["n-1"] });
});

test("the question is not written through a link, and a missing place for it is explained", async () => {
  const { pid } = start("sleep", "1000");
  const files = wardenFilesIn(newFolder());
  const questions = join(files.folder, "questions");
  const [file, precious] = [join(questions, "w.txt"), join(questions, "precious")];
  mkdirSync(questions);
  writeFileSync(precious, "mine");
  symlinkSync(precious, file);
  const suspect = await found({ id: "w", target: String(pid) }, { files });
  await suspect.ask(newQuestion({ nonce: "n-1" }));
  expect(readFileSync(precious, "utf8")).toBe("mine");
  expect(readFileSync(file, "utf8")).toContain("n-1");
  const nowhere = wardenFilesIn(newFolder());
  writeFileSync(join(nowhere.folder, "questions"), "no folder");
  const other = await found({ target: String(pid) }, { files: nowhere });
  await expect(other.ask(newQuestion({ nonce: "n-2" }))).rejects.toMatchObject({
    name: "VivError",
  });
});

test("growth of a watched file calls back", async () => {
  const { pid } = start("sleep", "1000");
  const file = join(newFolder(), "log");
  writeFileSync(file, "12345");
  const suspect = await found({ target: String(pid), watch: [file, `${file}.later`] });
  expect(await suspect.look()).toMatchObject({ files: { [file]: 5, [`${file}.later`]: 0 } });
  let calls = 0;
  suspect.watch(() => calls++);
  appendFileSync(file, "6");
  await until("the growth calls back", () => calls > 0);
  expect(await suspect.look()).toMatchObject({ files: { [file]: 6 } });
  calls = 0;
  writeFileSync(`${file}.later`, "1");
  await until("a new file calls back", () => calls > 0);
});

test("its whole tree is ended, with processes that carry its claim", async () => {
  const folder = newFolder();
  const claim = `c-${process.pid}`;
  const list = join(folder, "pids");
  const child = spawn(
    "bash",
    ["-c", `(setsid sh -c 'sleep 1000 & echo $! > ${list}' &) ; sleep 1000; :`],
    {
      detached: true,
      stdio: "ignore",
      env: { PATH: process.env.PATH, VIV_CLAIM: claim },
    },
  );
  const pid = child.pid ?? -1;
  let away = 0;
  await until("one is away", () => {
    try {
      away = Number(readFileSync(list, "utf8"));
    } catch {
      // not yet
    }
    return away > 0;
  });
  onTestFinished(() => {
    for (const each of [-pid, away]) if (isAlive(Math.abs(each))) process.kill(each, "SIGKILL");
  });
  const bound: BoundProcess = { ...boundOf(pid), claim };
  const resolve: Resolve = async () => ({ is: "there", bound, watch: [list] });
  const suspect = await found({ kind: "worker", target: "w1" }, { resolve });
  expect(suspect.bound).toEqual(bound);
  expect(await suspect.look()).toMatchObject({ files: { [list]: expect.any(Number) } });
  const ended = await within("it ends", endNow(suspect, [], 60_000));
  expect(ended.survivors).toEqual([]);
  expect([pid, away].filter(isAlive)).toEqual([]);
});

test("a worker that is gone or unknown is reported as resolved", async () => {
  const kind = "agent";
  const gone: Resolve = async () => ({ is: "gone", why: "it has ended" });
  expect(await find({ kind }, { resolve: gone })).toEqual({ is: "gone", why: "it has ended" });
  const unknown: Resolve = async () => ({ is: "unknown", why: "two of them" });
  expect(await find({ kind }, { resolve: unknown })).toEqual({ is: "unknown", why: "two of them" });
});

test("a bound worker is that process, though its name is gone or another's", async () => {
  const bound = boundOf(start("sleep", "1000").pid);
  const list = join(newFolder(), "other.log");
  writeFileSync(list, "begun\n");
  const other = { ...boundOf(start("sleep", "1000").pid) };
  const answers: Resolved[] = [
    { is: "gone", why: "it has ended" },
    { is: "there", bound: other, watch: [list] },
  ];
  for (const resolved of answers) {
    const worker = { kind: "worker", target: "w1", bound } as const;
    const suspect = await found(worker, { resolve: async () => resolved });
    expect(suspect.bound).toEqual(bound);
    expect(await suspect.look()).toMatchObject({ files: {} });
    expect(await suspect.look()).not.toMatchObject({ files: { [list]: 6 } });
  }
});

test("the rest of the tree of a suspect that is gone is ended", async () => {
  const { pid } = start("sleep", "1000");
  const all = suspects();
  const suspect = await found({ target: String(pid) });
  const known = suspect.tree([]);
  const ended = await all.endLeft(known, { killAfterMs: 60_000 });
  expect(ended).toMatchObject({ survivors: [], exit: [{ pid, signal: "SIGTERM" }] });
  expect(isAlive(pid)).toBe(false);
});

test("a worker that goes on to its next task is watched there, also after a restart", async () => {
  const { pid } = start("sleep", "1000");
  const folder = newFolder();
  const [first, second] = [join(folder, "first.log"), join(folder, "second.log")];
  for (const path of [first, second]) writeFileSync(path, "begun\n");
  const bound = boundOf(pid);
  let watch = [first];
  const resolve: Resolve = async () => ({ is: "there", bound, watch });
  const worker = { kind: "worker", target: "w1" } as const;
  const suspect = await found(worker, { resolve });
  expect(await suspect.look()).toMatchObject({ files: { [first]: 6 } });
  watch = [second];
  expect(await suspect.look()).toMatchObject({ files: { [first]: 6, [second]: 6 } });
  const after = await found({ ...worker, bound }, { resolve });
  expect(await after.look()).toMatchObject({ files: { [second]: 6 } });
});

test("a process that became another program after the question is not ended", async () => {
  const go = join(newFolder(), "go");
  const child = start("sh", "-c", `until [ -e '${go}' ]; do sleep 0.02; done; exec sleep 1000`);
  const suspect = await found({ target: String(child.pid) });
  const asked = await suspect.programs?.();
  writeFileSync(go, "");
  const isSleep = () =>
    readFileSync(`/proc/${child.pid}/cmdline`, "utf8").startsWith("sleep\x001000");
  await until("it is another program", isSleep);
  const options = { killAfterMs: 100, asked, isResumed: false };
  expect(await suspect.end([], options)).toMatchObject({
    ...{ exit: [], unknown: "not_asked: it became another program after it was asked" },
  });
  expect(isAlive(child.pid)).toBe(true);
});

test("when its tree cannot be looked at before the first signal, nothing is ended, and the reason is reported", async () => {
  const child = start("sleep", "1000");
  const suspect = await found({ target: String(child.pid) });
  const asked = await suspect.programs?.();
  const tree = suspect.tree([]);
  const isOther = (path: string | null) => path === `/proc/${process.pid}/stat`;
  const outage = new Outage("EMFILE", (name, path) => name === "openSync" && isOther(path), 1e6);
  outage.begin();
  try {
    const options = { killAfterMs: 0, asked, isResumed: false };
    const ended = await within("the refusal", suspect.end(tree, options));
    expect(ended).toMatchObject({
      exit: [],
      unknown: expect.stringContaining("nothing was ended"),
    });
    // One that may have been signalled is not declared a failure: it is tried again.
    await expect(suspect.end(tree, { ...options, isResumed: true })).rejects.toThrow("descriptor");
  } finally {
    outage.close();
  }
  expect(isAlive(child.pid)).toBe(true);
});
