import { spawn } from "node:child_process";
import {
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { commandTrouble } from "../machine-errors.mjs";
import { sleep } from "../scene.mjs";

/** People: cancel, retry, approve, reject; reap and doctor as cron would; checkpoints. */

const CHOICES = { cancel: 5, retry: 5, approve: 2, reject: 1, status: 1, look: 0.5 };
const FROM = {
  cancel: ["claimed", "claimed", "pending", "waiting", "review"],
  retry: ["failed"],
  approve: ["review"],
  reject: ["review"],
};

export async function decide(scene, chance) {
  while (!scene.isOver) {
    const verb = chance.weighted(CHOICES);
    const state = FROM[verb] && chance.pick(FROM[verb]);
    const at = chance.next();
    const trouble = commandTrouble(scene, chance);
    if (verb === "status") {
      await scene.command({ verb }, ["status", "--summary", `at ${Date.now()}`], trouble);
    } else if (verb === "look") {
      await scene.command({ verb: "ls" }, ["ls"], trouble);
    } else {
      const ids = idsIn(scene, state);
      if (ids.length > 0) await decideOne(scene, verb, ids[Math.floor(at * ids.length)], trouble);
    }
    await sleep(chance.between(50, 400));
  }
}

async function decideOne(scene, verb, id, trouble) {
  const by = `p${scene.number()}`;
  const args = [verb, id, "--by", by, ...(verb === "reject" ? ["--note", "once more"] : [])];
  const operation = await scene.command({ verb, id, by }, args, trouble);
  if (operation.status !== 0 && operation.status !== null) operation.after = scene.placeOf(id);
}

function idsIn(scene, state, isWanted = () => true) {
  const folder = join(scene.run, state);
  const folders =
    state === "claimed"
      ? readdirSync(folder)
          .filter((worker) => isWanted(scene, worker))
          .map((name) => join(folder, name))
      : [folder];
  const names = folders.flatMap((one) => readdirSync(one));
  return names.filter((name) => /^[^.].*\.json$/.test(name)).map((name) => name.slice(0, -5));
}

function isDead(scene, worker) {
  return /^w/.test(worker) && ![...scene.living.values()].some((one) => one.worker === worker);
}

/**
 * Cancels what a worker held that has just died, and sends it round again: the end of such an attempt
 * may be recorded, and not made.
 */
export async function meddle(scene, chance) {
  const known = new Set();
  while (!scene.isOver) {
    const ids = idsIn(scene, "claimed", isDead).filter((id) => !known.has(id));
    for (const id of ids) known.add(id);
    await Promise.all(
      ids.slice(0, 4).map(async (id) => {
        await decideOne(scene, "cancel", id, {});
        if (chance.isTrue(0.7)) await decideOne(scene, "retry", id, {});
      }),
    );
    await sleep(100);
  }
}

export async function reapNowAndThen(scene, chance) {
  while (!scene.isOver) {
    await sleep(chance.between(1000, 3000));
    const args = ["reap", "--stale-after", String(scene.staleSeconds)];
    await scene.command({ verb: "reap" }, args, commandTrouble(scene, chance));
  }
}

export async function doctorNowAndThen(scene, chance) {
  while (!scene.isOver) {
    await sleep(chance.between(6000, 14_000));
    const args = chance.isTrue(0.7) ? ["doctor", "--fix"] : ["doctor"];
    await scene.command({ verb: "doctor" }, args, commandTrouble(scene, chance));
  }
}

/** Holds the lock on status.json for seconds, as a slow colleague does. */
export async function holdLock(scene, chance) {
  while (!scene.isOver) {
    await sleep(chance.between(4000, 12_000));
    const seconds = chance.between(0.2, 4).toFixed(1);
    const lock = join(scene.run, ".status.lock");
    const child = spawn("flock", [lock, "sleep", seconds], { stdio: "ignore" });
    await new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  }
}

/** Somebody tidies up: pieces of .viv/ are removed, emptied or cut, under everybody's hands. */
export async function spoilDerived(scene, chance) {
  const pieces = [
    "lanes",
    "cursors",
    "dependents",
    "due",
    "attempts",
    "processes",
    "projection.json",
    "adopted",
    "workers",
  ];
  while (!scene.isOver) {
    await sleep(chance.between(3000, 9000));
    const piece = chance.pick([...pieces, "lanes", "dependents", ""]);
    const how = piece === "" ? "remove" : chance.pick(["remove", "empty", "cut"]);
    spoil(join(scene.run, ".viv", piece), how);
    scene.spoils++;
  }
}

function spoil(path, how) {
  try {
    if (how === "remove") return rmSync(path, { recursive: true, force: true });
    const stats = lstatSync(path);
    if (stats.isDirectory()) {
      for (const name of readdirSync(path)) spoil(join(path, name), how);
    } else if (stats.isFile()) truncateSync(path, how === "empty" ? 0 : Math.floor(stats.size / 2));
  } catch (error) {
    // Somebody makes and removes files there all the time.
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(error.code)) throw error;
  }
}

/** status.json as a full disk or an editor leaves it, for a second. */
export async function spoilStatus(scene, chance) {
  const path = join(scene.run, "status.json");
  while (!scene.isOver) {
    await sleep(chance.between(8000, 20_000));
    const text = readFileSync(path, "utf8");
    writeFileSync(path, chance.pick(["", "{", text.slice(0, 40)]));
    scene.spoils++;
    await sleep(chance.between(100, 1500));
    writeFileSync(`${path}~`, text);
    renameSync(`${path}~`, path);
  }
}
