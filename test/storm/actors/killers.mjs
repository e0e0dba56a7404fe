import { readFileSync } from "node:fs";
import { sleep, uptime } from "../scene.mjs";

/** kill -9 of any process of the storm, at any moment. */
export async function kill(scene, chance) {
  while (!scene.isOver) {
    await sleep(chance.between(500, 3500));
    const victim = choose(scene, chance);
    if (victim === undefined) continue;
    if (victim.worker) scene.strike(victim.worker, "kill");
    scene.kills++;
    victim.child.kill("SIGKILL");
  }
}

/** SIGSTOP, sometimes for longer than it takes to be given up. `wake` sends the SIGCONT. */
export async function stop(scene, chance) {
  while (!scene.isOver) {
    await sleep(chance.between(2000, 8000));
    const victim = choose(scene, chance);
    if (victim === undefined) continue;
    victim.child.kill("SIGSTOP");
  }
}

function choose(scene, chance) {
  const all = [...scene.living.values()].filter(({ isSafe }) => !isSafe);
  const workers = all.filter(({ worker }) => worker);
  return chance.pick(chance.isTrue(0.5) && workers.length > 0 ? workers : all);
}

/** Finds what is stopped, by us or by itself, and wakes it after a while. */
export async function wake(scene, chance) {
  const sleeping = new Map();
  while (!scene.isOver) {
    await sleep(200);
    for (const [pid, one] of scene.living) {
      if (!isStopped(pid)) continue;
      if (!sleeping.has(pid)) {
        const long = chance.between(scene.staleSeconds + 2, scene.staleSeconds + 6);
        const seconds = chance.isTrue(0.6) ? long : chance.between(0.2, 3);
        sleeping.set(pid, uptime() + seconds);
        if (one.worker) scene.strike(one.worker, "stop");
        scene.stops++;
      } else if (uptime() > sleeping.get(pid)) {
        sleeping.delete(pid);
        one.child.kill("SIGCONT");
      }
    }
  }
  for (const { child } of scene.living.values()) child.kill("SIGCONT");
}

function isStopped(pid) {
  try {
    return /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false; // gone
  }
}
