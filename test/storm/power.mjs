import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { enqueueAll } from "./actors/enqueuers.mjs";
import { decide } from "./actors/people.mjs";
import { shellWorker } from "./actors/shell-worker.mjs";
import { keepWorking, startWorker } from "./actors/workers.mjs";
import { Chance } from "./chance.mjs";
import { Disk, SnapshotDisk } from "./disk.mjs";
import { examine, orphans } from "./ending.mjs";
import { bytesBelow, readWorld } from "./read-world.mjs";
import { asleep, judge, wrongList } from "./referee.mjs";
import { Scene, sleep, uptime, within } from "./scene.mjs";

/**
 * Power cuts: a run on a disk of its own, work in `safe`, the plug is pulled, the disk comes back.
 * What was acknowledged before the cut must be there, and workers must bring everything to its end,
 * without doctor, without spinning. Rounds take turns:
 *   fresh     soon after the run was made, with nothing but a queue in it
 *   first     soon after the first tasks were claimed
 *   working   in the middle of everything
 */

const ROUNDS = {
  fresh: { most: 600, first: 200, seconds: [0, 1], kinds: { bulk: 4, single: 1 } },
  working: {
    most: 800,
    first: 1,
    seconds: [3, 10],
    kinds: { bulk: 4, single: 2, nameless: 1, library: 2 },
  },
  first: { most: 150, first: 1, seconds: [0, 2], kinds: { bulk: 1 } },
};

const DRAIN_SECONDS = 90;
const SILENT_SECONDS = 5;
const STOP_SECONDS = 30;
const MOST_BYTES = 64 * 2 ** 20;
const MOST_CPU_SECONDS = 45;

export async function powerCut({ dir, dist, seed, kind, round, limitSeconds, live }) {
  const folder = mkdtempSync(join(dir, `viv-power-${kind}-`));
  // The second three of six: another way to lose power.
  const disk = round % 6 < 3 ? new Disk(folder, kind) : new SnapshotDisk(folder, kind);
  const chance = new Chance(seed).of(`${kind} ${round}`);
  const name = Object.keys(ROUNDS)[round % 3];
  const { most, first, kinds, seconds: range } = ROUNDS[name];
  // Longer than any pause here: nobody is given up but for being gone.
  const scene = new Scene({ folder, dist, seed, staleSeconds: 300, limitSeconds });
  scene.run = join(disk.path, "run");
  Object.assign(scene, { parts: new Set(["people", "shell"]), kills: 0, stops: 0, troubles: 0 });
  const made = await scene.command({ verb: "init" }, ["init", scene.run], { isBare: true });
  if (made.status !== 0) throw new Error(`no run could be made: ${made.message}`);

  const worker = { concurrency: 3, durability: "safe" };
  const actors = [
    enqueueAll(scene, chance.of("enqueuer"), { name: "a", most, kinds }),
    ...(name === "fresh" ? [] : ["w1", "w2"]).map((one) =>
      keepWorking(scene, chance.of(one), { name: one, ...worker }),
    ),
    ...(name === "working" ? [shellWorker(scene, chance.of("sh1"), { name: "sh1" })] : []),
    ...(name === "working" ? [decide(scene, chance.of("people"))] : []),
    // What they read after the cut fails, and then it does not matter.
  ].map((actor) => actor.catch((error) => scene.isOver || Promise.reject(error)));
  const broken = Promise.all(actors);
  broken.catch(() => {}); // awaited below
  const seconds = chance.between(...range);
  // From the first acknowledged tasks on: before them, there is nothing to lose.
  const acknowledged = () => scene.operations.flatMap(({ enqueued }) => enqueued ?? []).length;
  while (acknowledged() < first) await within(50, broken);
  await Promise.race([sleep(seconds * 1000), broken.then(() => sleep(seconds * 1000))]);

  Object.assign(scene, { isOver: true, isDark: true });
  const cutAt = uptime();
  disk.cut();
  for (const { child, worker } of scene.living.values()) {
    if (worker) scene.strike(worker, "kill");
    child.kill("SIGKILL");
  }
  orphans(scene); // handlers die of a power cut, too
  await broken;
  await Promise.all([...scene.living.values()].map(({ child }) => child.ended));
  forgetAfter(scene, cutAt);
  disk.unmount();
  disk.mount();
  scene.isDark = false;
  live(`${kind}, ${name}: cut after ${seconds.toFixed(1)} s, ${scene.operations.length} commands`);

  const crimes = await recover(scene);
  const world = readWorld(scene);
  const { crimes: sick, before } = await examine(scene);
  const repaired = readWorld(scene);
  const known = new Set(crimes.map(({ kind: what, id }) => `${what} ${id}`));
  const judged = [...judge({ ...world, completed: doneIn(world) }), ...wrongList(repaired)];
  crimes.push(...sick, ...judged.filter(({ kind: what, id }) => !known.has(`${what} ${id}`)));
  return {
    scene,
    crimes,
    before,
    text: `${name}, ${disk.constructor.name}, after ${seconds.toFixed(1)} s`,
    tasks: world.places.size,
    ledger: world.ledger,
    keep: () => disk.keep(),
    remove: () => {
      disk.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The list in status.json is judged after the repair: it is never synced. */
function doneIn({ places }) {
  return [...places].filter(([, list]) => list[0].state === "done").map(([id]) => id);
}

/** An answer that came after the cut says nothing about what is on the disk. */
function forgetAfter(scene, cutAt) {
  for (const operation of scene.operations) {
    if (operation.end < cutAt) continue;
    Object.assign(operation, { status: null, enqueued: [], refusals: [] });
  }
  scene.acknowledged = scene.acknowledged.filter(({ at }) => at < cutAt);
}

/** A worker comes back under its name, and another one drains. Both are watched for spinning. */
async function recover(scene) {
  const bytes = bytesBelow(scene.run);
  const workers = [
    startWorker(scene, "drain", { flags: ["--drain", "--exit-zero", "--concurrency", "4"] }),
    startWorker(scene, "w1", { flags: ["--concurrency", "3"] }),
  ];
  const [drain, standing] = workers;
  const begun = uptime();
  const crimes = [];
  let isReaped = false;
  let ended;
  while (ended === undefined && crimes.every(({ kind }) => kind === "asleep")) {
    for (const { pid } of workers) crimes.push(...spinning(pid, bytes));
    if (uptime() > begun + DRAIN_SECONDS) {
      crimes.push({ kind: "hung", id: "-", text: `--drain after a cut, ${DRAIN_SECONDS} s` });
    }
    // Who died without leaving a note is given up after a while.
    if (!isReaped && uptime() > begun + SILENT_SECONDS + 1) {
      isReaped = true;
      crimes.push(...(await sleepers(scene)));
      const args = ["reap", "--stale-after", String(SILENT_SECONDS)];
      crimes.push(...failed(await scene.command({ verb: "reap" }, args)));
    }
    ended = await within(250, drain.ended);
  }
  if (ended !== undefined && ended.status !== 0) {
    const text = `--drain ended with ${ended.status ?? ended.signal}: ${drain.said.text.slice(-500)}`;
    crimes.push({ kind: "bug", id: "-", text });
  }
  standing.kill("SIGTERM");
  if ((await within(STOP_SECONDS * 1000, standing.ended)) === undefined) {
    crimes.push({ kind: "hung", id: "-", text: "a worker ignores SIGTERM after a cut" });
  }
  const left = workers.filter(({ pid }) => scene.living.has(pid));
  for (const child of left) child.kill("SIGKILL");
  await Promise.all(workers.map((child) => child.ended));
  const outlived = orphans(scene);
  // Those of a worker that we had to kill are no news.
  return left.length > 0 ? crimes : [...crimes, ...outlived];
}

/** Nobody has anything to do, and yet there are tasks that wait for what is done: twice the same. */
async function sleepers(scene) {
  const first = new Set(asleepNow(scene).map(({ id }) => id));
  if (first.size === 0) return [];
  await sleep(SILENT_SECONDS * 1000);
  return asleepNow(scene).filter(({ id }) => first.has(id));
}

function asleepNow(scene) {
  if (readdirSync(join(scene.run, "pending")).length > 0) return [];
  const world = readWorld(scene);
  // One that failed since rests before its next attempt.
  const rests = new Set(world.ledger.filter((line) => line.retry_at).map(({ task }) => task));
  return asleep(world).filter(({ id, text }) => !text.startsWith("still") && !rests.has(id));
}

function spinning(pid, bytes) {
  const used = usedBy(pid);
  if (used === null) return [];
  if (used.written > MOST_BYTES) {
    const text = `a worker wrote ${used.written} bytes after a cut, in a run of ${bytes}`;
    return [{ kind: "growth", id: "-", text }];
  }
  if (used.cpu <= MOST_CPU_SECONDS) return [];
  return [{ kind: "hung", id: "-", text: `a worker spins after a cut: ${used.cpu} s of CPU` }];
}

function failed({ verb, status, message }) {
  return status === 0 ? [] : [{ kind: "bug", id: "-", text: `${verb}: ${message}` }];
}

/** Bytes written and CPU seconds, or null when it is gone. */
function usedBy(pid) {
  try {
    const io = readFileSync(`/proc/${pid}/io`, "utf8");
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return {
      written: Number(/^wchar: (\d+)/m.exec(io)[1]),
      cpu: (Number(stat[11]) + Number(stat[12])) / 100,
    };
  } catch {
    return null;
  }
}
