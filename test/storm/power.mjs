import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { enqueueAll } from "./actors/enqueuers.mjs";
import { decide } from "./actors/people.mjs";
import { shellWorker } from "./actors/shell-worker.mjs";
import { keepWorking, startWorker } from "./actors/workers.mjs";
import { Chance } from "./chance.mjs";
import { Disk } from "./disk.mjs";
import { examine, orphans } from "./ending.mjs";
import { bytesBelow, readWorld } from "./read-world.mjs";
import { judge } from "./referee.mjs";
import { Scene, sleep, uptime, within } from "./scene.mjs";

/**
 * Power cuts: a run on a disk of its own, work in `safe`, the plug is pulled, the disk comes back.
 * What was acknowledged before the cut must be there, and one `viv work --drain` must bring everything
 * to its end, without doctor, without spinning. Every other round cuts soon after the run was made.
 */

const DRAIN_SECONDS = 90;
const SILENT_SECONDS = 5;
const STOP_SECONDS = 30;
const MOST_BYTES = 64 * 2 ** 20;
const MOST_CPU_SECONDS = 45;

export async function powerCut({ dir, dist, seed, kind, round, limitSeconds, live }) {
  const folder = mkdtempSync(join(dir, `viv-power-${kind}-`));
  const disk = new Disk(folder, kind);
  const chance = new Chance(seed).of(`${kind} ${round}`);
  const isEarly = round % 2 === 0;
  // Longer than any pause here: nobody is given up but for being gone.
  const scene = new Scene({ folder, dist, seed, staleSeconds: 300, limitSeconds });
  scene.run = join(disk.path, "run");
  Object.assign(scene, { parts: new Set(["people", "shell"]), kills: 0, stops: 0, troubles: 0 });
  const made = await scene.command({ verb: "init" }, ["init", scene.run], { isBare: true });
  if (made.status !== 0) throw new Error(`no run could be made: ${made.message}`);

  const actors = [
    enqueueAll(scene, chance.of("enqueuer"), { name: "a", most: isEarly ? 40 : 600 }),
    keepWorking(scene, chance.of("w1"), { name: "w1", concurrency: 3, durability: "safe" }),
    keepWorking(scene, chance.of("w2"), { name: "w2", concurrency: 3, durability: "safe" }),
    ...(isEarly ? [] : [shellWorker(scene, chance.of("sh1"), { name: "sh1" })]),
    ...(isEarly ? [] : [decide(scene, chance.of("people"))]),
    // What they read after the cut fails, and then it does not matter.
  ].map((actor) => actor.catch((error) => scene.isOver || Promise.reject(error)));
  const broken = Promise.all(actors);
  broken.catch(() => {}); // awaited below
  const seconds = isEarly ? chance.between(0, 2) : chance.between(3, 10);
  // From the first acknowledged task on: before it, there is nothing to lose.
  while (!scene.operations.some(({ enqueued }) => enqueued?.length > 0)) await within(50, broken);
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
  live(`${kind} ${round}: cut after ${seconds.toFixed(1)} s, ${scene.operations.length} commands`);

  const crimes = await recover(scene);
  crimes.push(...orphans(scene));
  const world = readWorld(scene);
  const { crimes: sick, before } = await examine(scene);
  const { completed } = readWorld(scene);
  crimes.push(...sick, ...judge({ ...world, completed }));
  return {
    scene,
    crimes,
    before,
    text: `after ${seconds.toFixed(1)} s`,
    tasks: world.places.size,
    ledger: world.ledger,
    keep: () => {
      disk.unmount();
      return disk.image;
    },
    remove: () => {
      disk.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
    startWorker(scene, "drain", { flags: ["--drain", "--concurrency", "4"] }),
    startWorker(scene, "w1", { flags: ["--concurrency", "3"] }),
  ];
  const [drain, standing] = workers;
  const begun = uptime();
  const crimes = [];
  let isReaped = false;
  let ended;
  while (ended === undefined && crimes.length === 0) {
    for (const { pid } of workers) crimes.push(...spinning(pid, bytes));
    if (uptime() > begun + DRAIN_SECONDS) {
      crimes.push({ kind: "hung", id: "-", text: `--drain after a cut, ${DRAIN_SECONDS} s` });
    }
    // Who died without leaving a note is given up after a while.
    if (!isReaped && uptime() > begun + SILENT_SECONDS + 1) {
      isReaped = true;
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
  for (const child of workers) child.kill("SIGKILL");
  await Promise.all(workers.map((child) => child.ended));
  return crimes;
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
