// What happens to a run when a file or folder below .viv/ is damaged, before it is opened or while
// two workers are at it. One process for all cases, so that one that hangs is killed from outside:
//   damage.mjs FOLDER WHEN SHARE SEED [FILTER]
// SHARE of the cases, chosen by SEED, or those whose names contain FILTER. Prints {"begins": case} and {"case", "problems": [...]} for each, and {"over": true}.
// Clocks are moved instead of waited for.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, when, share, seed, filter = ""] = process.argv.slice(2);
const { openRun } = await import(pathToFileURL(`${process.env.VIV_DIST}/main.js`).href);
const print = fs.writeSync;
const say = (line) => print(1, `${JSON.stringify(line)}\n`);

let skew = 0;
const now = Date.now.bind(Date);
Date.now = () => now() + skew;
const tick = performance.now.bind(performance);
performance.now = () => tick() + skew;

const HOST = hostname()
  .replace(/[^A-Za-z0-9-]/g, "_")
  .slice(0, 64);
const isRoot = process.getuid() === 0;
const NOBODY = 65_534;

/** Each finds the file (or folder) in a run as `make` leaves it, and another of its kind. */
const TARGETS = {
  "the lane of high": ["lanes/high.log", "lanes/normal.log"],
  "the lane of normal": ["lanes/normal.log", "lanes/low.log"],
  "the lane of low": ["lanes/low.log", "lanes/high.log"],
  "a cursor": ["cursors/normal.all", "cursors/high.all"],
  "another filter's cursor": ["cursors/normal.*", "cursors/normal.all"],
  "notes of dependents": ["dependents/a1", "dependents/b"],
  "notes of other dependents": ["dependents/b", "dependents/a2"],
  "a due time": ["due/*/*.e", "due/*/*.later"],
  "a bucket of due times": ["due/*", null, "folder"],
  "a history": ["attempts/e.jsonl", "attempts/e2.jsonl"],
  // A hard link: what is written into it is written into the task.
  "a registration of an id": ["ids/a1.json", "ids/a2.json", "link"],
  "a worker's file": ["workers/w.json", "workers/v.json"],
  "the lock of names": ["workers/.lock", null],
  "a process note": ["processes/f.json", null],
  "the projection": ["projection.json", null],
  "the mark of adoption": ["adopted", null],
  "the mark of waking": ["woken", null],
  "the note of the boot": [`boot-${HOST}`, null],
  "the lock of recovery": ["boot.lock", null],
  "the lock of status.json": ["../.status.lock", null],
  "a heartbeat": ["../claimed/w/.heartbeat", "../claimed/v/.heartbeat"],
  ".viv": [".", null, "folder"],
  ...Object.fromEntries(
    "tmp ids lanes cursors dependents due attempts workers processes"
      .split(" ")
      .map((name) => [`${name}/`, [name, null, "folder"]]),
  ),
};

const NULS = (size) => Buffer.alloc(size);
const noise = (size) => Buffer.from(Array.from({ length: size }, (_, i) => (i * 7919 + 13) % 256));

const DAMAGES = {
  gone: (path) => fs.rmSync(path, { recursive: true }),
  empty: onFile((path) => fs.truncateSync(path, 0)),
  "cut in its first line": onFile((path) => fs.truncateSync(path, Math.min(3, sizeOf(path)))),
  "cut in the middle": onFile((path) => fs.truncateSync(path, Math.floor(sizeOf(path) / 2))),
  "cut before its end": onFile((path) => fs.truncateSync(path, Math.max(0, sizeOf(path) - 1))),
  "full of NULs": onFile((path) => fs.writeFileSync(path, NULS(Math.max(64, sizeOf(path))))),
  "NULs from a page on": onFile((path) => {
    const text = fs.readFileSync(path);
    text.fill(0, Math.floor(text.length / 3));
    fs.writeFileSync(path, text);
  }),
  "random bytes": onFile((path) => fs.writeFileSync(path, noise(3000))),
  "replaced by random bytes": onName((path) => {
    fs.rmSync(path);
    fs.writeFileSync(path, noise(70_000));
  }),
  "JSON of another shape": onFile((path) => fs.writeFileSync(path, '{"open":{},"file":7}\n')),
  "a folder": onName((path) => {
    fs.rmSync(path);
    fs.mkdirSync(join(path, "with", "more"), { recursive: true });
  }),
  "a file": (path, _, kind) => {
    if (kind !== "folder") return false;
    fs.rmSync(path, { recursive: true });
    fs.writeFileSync(path, "what is this?");
  },
  "a link": (path) => {
    fs.rmSync(path, { recursive: true });
    fs.symlinkSync(elsewhere, path);
  },
  "a pipe": (path) => {
    fs.rmSync(path, { recursive: true });
    execFileSync("mkfifo", [path]);
  },
  "a device": (path) => {
    if (!isRoot) return false;
    fs.rmSync(path, { recursive: true });
    execFileSync("mknod", [path, "c", "1", "5"]); // /dev/zero: reading it never ends
  },
  "of mode 0": onFile((path) => {
    if (isRoot && !becomeNobody()) return false;
    fs.chmodSync(path, 0);
  }),
  "swapped with another": (path, other) => {
    if (other === null) return false;
    fs.renameSync(path, `${path}.swap`);
    fs.renameSync(other, path);
    fs.renameSync(`${path}.swap`, other);
  },
};

function onFile(damage) {
  return (path, other, kind) => (kind === undefined ? damage(path, other) : false);
}

function onName(damage) {
  return (path, other, kind) => (kind === "folder" ? false : damage(path, other));
}

const sizeOf = (path) => fs.statSync(path).size;
let elsewhere = "";
let root = "";

/** Root may read everything; what a mode forbids is seen by others. */
function becomeNobody() {
  for (const path of [root, elsewhere, ...all(root)]) fs.lchownSync(path, NOBODY, NOBODY);
  process.setegid(NOBODY);
  process.seteuid(NOBODY);
  return true;
}

function becomeRoot() {
  if (!isRoot) return;
  process.seteuid(0);
  process.setegid(0);
}

function all(at) {
  const names = fs.readdirSync(at, { withFileTypes: true });
  return names.flatMap((one) => {
    const path = join(at, one.name);
    return one.isDirectory() ? [path, ...all(path)] : [path];
  });
}

/** The first file that fits, with `*` for any name. */
function find(pattern) {
  let found = [join(root, ".viv")];
  for (const part of pattern.split("/")) {
    const fits = new RegExp(`^${part.replace(/[.]/g, "\\.").replace(/\*/g, ".*")}$`);
    found = found.flatMap((at) =>
      part === "." || part === ".."
        ? [join(at, part)]
        : fs
            .readdirSync(at)
            .filter((name) => fits.test(name))
            .map((name) => join(at, name)),
    );
  }
  return found.sort().at(-1);
}

/** Tasks that must run this often. */
const RUNS = {
  a1: 1,
  a2: 1,
  a3: 1,
  a4: 1,
  a5: 1,
  b: 1,
  c: 1,
  d: 2,
  e: 2,
  e2: 2,
  f: 1,
  later: 1,
  o: 1,
};

class Scene {
  claimed = new Map();
  attempts = new Map();
  held = [];

  async make() {
    this.w = await openRun(root, { create: true, durability: "fast" });
    this.v = await openRun(root, { durability: "fast" });
    await this.w.register("w");
    await this.v.register("v");
    for (const [id, more] of Object.entries({
      e: { max_attempts: 2 },
      e2: { max_attempts: 2 },
    })) {
      await this.w.enqueue({ id, type: "t", ...more });
    }
    skew += 100; // time passes between a task's beginning and its coming back
    for (let n = 0; n < 2; n++) await this.take(this.w, "w", true);
    await this.w.enqueue({ id: "f", type: "t" });
    await this.hold(this.w, "w");
    const f = this.held[0];
    await this.w.noteProcess(f, { pid: 0, started: "0", claim: "x" });
    for (const [id, more] of Object.entries({
      a1: { priority: "high" },
      a2: {},
      a3: { priority: "low" },
      a4: {},
      a5: {},
      b: { depends_on: ["a1"] },
      c: { depends_on: ["b", "a2"] },
      d: { max_attempts: 2 },
      later: { not_before: new Date(Date.now() + 1_500).toISOString() },
    })) {
      await this.w.enqueue({ id, type: "t", ...more });
    }
    await this.w.enqueue({ id: "o", type: "other" });
    // So that every kind of file is there.
    await this.take(this.v, "v", false, ["other"]);
    await this.v.waitForWork({ timeoutMs: 1, types: ["none"] });
    await this.w.flushStatus();
    await this.w.sweep({ thorough: true });
    const another = await openRun(root, { durability: "fast" });
    await this.take(another, "x");
    await this.take(another, "x", false, ["t"]);
    await another.close();
  }

  async hold(store, worker, types) {
    const [claim] = await store.claim({ worker, ...(types ? { types } : {}) });
    if (!claim) return null;
    const id = claim.task.task_id;
    this.claimed.set(id, (this.claimed.get(id) ?? 0) + 1);
    this.attempts.set(id, claim.attempt);
    const ref = { id, worker, token: claim.token, store };
    this.held.push(ref);
    return ref;
  }

  async end({ store, ...ref }) {
    const fails = RUNS[ref.id] === 2 && this.claimed.get(ref.id) === 1;
    if (fails) await store.fail(ref, { backoffMs: 1_000 });
    else await store.complete(ref);
  }

  async take(store, worker, _, types) {
    const ref = await this.hold(store, worker, types);
    if (!ref) return false;
    this.held.pop();
    await this.end(ref);
    return true;
  }

  async close() {
    for (const store of [this.w, this.v]) await store.close();
  }
}

/** Until everything is done, or has had its chance. */
async function drain(scene, stores) {
  let idle = 0;
  let unheard = 0;
  for (let round = 0; round < 400 && idle < 30; round++) {
    const [store, worker] = stores[round % stores.length];
    let found = false;
    try {
      found = await scene.take(store, worker);
      unheard = 0;
    } catch (error) {
      // A worker says so, and tries again.
      if (++unheard > 3) throw error;
    }
    idle = found ? 0 : idle + 1;
    if (!found) {
      skew += 500;
      await store.waitForWork({ timeoutMs: 1 });
      if (idle % 8 === 7) await store.heartbeat(worker);
    }
    if (fs.readdirSync(join(root, "done")).length === Object.keys(RUNS).length) return;
  }
}

async function play(name, [pattern, other, kind], damage) {
  const problems = [];
  const scene = new Scene();
  const check = (is, text) => void (is || problems.push(text));
  await scene.make();
  let stores = [
    [scene.w, "w"],
    [scene.v, "v"],
  ];
  if (when === "running") {
    await scene.take(scene.w, "w");
  } else {
    for (const ref of scene.held.splice(0)) await scene.end(ref);
    await scene.close();
  }
  let path;
  let swap = null;
  try {
    path = find(pattern);
    swap = other && find(other);
  } catch {
    path = undefined;
  }
  if (path === undefined && when !== "running") path = join(root, ".viv", pattern);
  if (path === undefined || (pattern.includes("*") && !fs.existsSync(path))) return null;
  if (!fs.existsSync(path)) {
    if (pattern.startsWith("..") || kind === "folder") return null;
    fs.writeFileSync(path, "");
  }
  const outside = fs.readdirSync(elsewhere).length;
  if (damage(path, swap ?? null, kind) === false) return null;
  if (when !== "running") {
    const opened = [
      await openRun(root, { durability: "fast" }),
      await openRun(root, { durability: "fast" }),
    ];
    [scene.w, scene.v] = opened;
    await scene.w.register("w");
    await scene.v.register("v");
    stores = [
      [scene.w, "w"],
      [scene.v, "v"],
    ];
  }
  for (const ref of scene.held.splice(0)) await scene.end(ref);
  await drain(scene, stores);
  for (const [id, times] of Object.entries(RUNS)) {
    const ran = scene.claimed.get(id) ?? 0;
    check(ran === times, `${id} ran ${ran} times, not ${times}`);
    check((scene.attempts.get(id) ?? 0) === times, `${id}: attempt ${scene.attempts.get(id)}`);
    check(fs.existsSync(join(root, "done", `${id}.json`)), `${id} is not done`);
  }
  check(fs.readdirSync(join(root, "failed")).length === 0, "something failed");
  const lines = ["high", "normal", "low"].flatMap((lane) =>
    linesOf(join(root, `.viv/lanes/${lane}.log`)),
  );
  for (const id of Object.keys(RUNS)) {
    const count = lines.filter((line) => line.startsWith(`${id}\t`)).length;
    check(count <= 6, `${count} lines about ${id}`);
  }
  const bytes = all(join(root, ".viv")).reduce((sum, one) => {
    const stats = fs.lstatSync(one);
    return sum + (stats.isFile() ? stats.size : 0);
  }, 0);
  check(bytes < 400_000, `${bytes} bytes below .viv/`);
  check(fs.readdirSync(elsewhere).length === outside, "something was written through a link");
  for (const [store] of stores) await store.close();
  // Who looks much later finds nothing that anybody could still be about to do.
  skew += 3_600_000;
  const doctor = await openRun(root, { durability: "fast" });
  await doctor.doctor({ fix: true });
  const { findings } = await doctor.doctor();
  for (const one of findings) {
    check(one.code === "torn_line", `doctor: ${one.code} ${one.path}: ${one.message}`);
  }
  await doctor.close();
  void name;
  return problems;
}

function linesOf(path) {
  try {
    return fs.lstatSync(path).isFile() ? fs.readFileSync(path, "latin1").split("\n") : [];
  } catch {
    return [];
  }
}

let random = Number(seed);
function isChosen() {
  random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
  return random / 2 ** 32 < Number(share);
}

let serial = 0;
for (const [target, where] of Object.entries(TARGETS)) {
  for (const [damage, act] of Object.entries(DAMAGES)) {
    const name = `${target}: ${damage}`;
    if (!name.includes(filter) || !isChosen()) continue;
    say({ begins: name });
    skew = 0;
    root = join(folder, `run-${serial}`);
    elsewhere = join(folder, `elsewhere-${serial++}`);
    fs.mkdirSync(elsewhere, { mode: 0o777 });
    let problems;
    try {
      problems = await play(name, where, act);
    } catch (error) {
      problems = [`threw ${error.stack}`];
    } finally {
      becomeRoot();
    }
    if (problems !== null) say({ case: name, problems });
    fs.rmSync(root, { recursive: true, force: true });
  }
}
say({ over: true });
