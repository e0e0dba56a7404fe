import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { enqueueAll } from "./actors/enqueuers.mjs";
import { kill, stop, wake } from "./actors/killers.mjs";
import {
  decide,
  doctorNowAndThen,
  holdLock,
  meddle,
  reapNowAndThen,
  spoilDerived,
  spoilStatus,
} from "./actors/people.mjs";
import { shellWorker } from "./actors/shell-worker.mjs";
import { swarmWorker } from "./actors/swarm.mjs";
import { keepWorking } from "./actors/workers.mjs";
import { Chance } from "./chance.mjs";
import { examine, growth, orphans, settle, stopAll } from "./ending.mjs";
import { countFaults, readWorld } from "./read-world.mjs";
import { judge } from "./referee.mjs";
import { Scene, sleep, uptime } from "./scene.mjs";

/**
 * One storm: a run, many processes, everything that can go wrong, and at the end the referee. Resolves
 * with the crimes and the counts.
 */

/** What may be switched off (`--only`): enqueuers, workers and the reaper are always there. */
export const PARTS = [
  "kills",
  "stops",
  "faults",
  "slow",
  "people",
  "lock",
  "doctor",
  "shell",
  "swarm",
];

/** Only with `--also`: what other people's hands do to the run itself. */
export const MORE_PARTS = ["derived", "status"];

/** A worker is given up after so long without a heartbeat: well above the longest outage (3 s). */
const STALE_SECONDS = 8;

export async function storm({ dir, dist, seed, minutes, most, parts, say, live, limitSeconds }) {
  mkdirSync(dir, { recursive: true });
  const folder = mkdtempSync(join(dir, "viv-storm-"));
  const scene = new Scene({ folder, dist, seed, staleSeconds: STALE_SECONDS, limitSeconds });
  Object.assign(scene, { parts: new Set(parts), kills: 0, stops: 0, spoils: 0, troubles: 0 });
  const chance = new Chance(seed);
  const made = await scene.command({ verb: "init" }, ["init", scene.run], { isBare: true });
  if (made.status !== 0) throw new Error(`no run could be made: ${made.message}`);

  const actors = [
    enqueueAll(scene, chance.of("enqueuer a"), { name: "a", most: most / 2 }),
    enqueueAll(scene, chance.of("enqueuer b"), { name: "b", most: most / 2 }),
    ...["w1", "w2"].map((name) =>
      keepWorking(scene, chance.of(name), { name, concurrency: 4, durability: "safe" }),
    ),
    keepWorking(scene, chance.of("w3"), { name: "w3", concurrency: 3, durability: "fast" }),
    reapNowAndThen(scene, chance.of("reaper")),
  ];
  const add = (part, act, ...more) => {
    if (scene.parts.has(part))
      actors.push(act(scene, chance.of(`${part}${more[0]?.name ?? ""}`), ...more));
  };
  add("people", decide);
  add("people", decide, { name: "2" });
  add("people", meddle, { name: "meddler" });
  add("lock", holdLock);
  add("doctor", doctorNowAndThen);
  add("shell", shellWorker, { name: "sh1" });
  add("shell", shellWorker, { name: "sh2" });
  add("swarm", swarmWorker, { name: "py1" });
  add("derived", spoilDerived);
  add("status", spoilStatus);
  add("kills", kill);
  add("stops", stop);
  const waking = wake(scene, chance.of("wake"));

  const failed = Promise.all(actors).then(() => undefined);
  failed.catch(() => {}); // awaited below
  const begin = uptime();
  const until = begin + minutes * 60;
  while (uptime() < until) {
    await Promise.race([sleep(1000), failed.then(() => sleep(1000))]);
    live(`${(until - uptime()).toFixed(0).padStart(4)} s  ${progress(scene)}`);
    if (isFinished(scene, most)) break;
  }

  scene.isOver = true;
  scene.areFaultsOn = false;
  writeFileSync(join(folder, "stop"), "");
  await waking;
  const crimes = await stopAll(scene, actors);
  crimes.push(...(await settle(scene, say)));
  const { crimes: sick, before } = await examine(scene);
  crimes.push(...sick, ...orphans(scene));
  const world = readWorld(scene);
  const swarm = new Set(["py1"]);
  crimes.push(...judge(world), ...growth(scene, world.places.size), ...deathsOf(scene, swarm));
  return {
    scene,
    crimes,
    before,
    tasks: world.places.size,
    counts: counts(scene, world),
    ledger: world.ledger,
    keep: () => folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function progress(scene) {
  const count = (state) => readdirSync(join(scene.run, state)).length;
  return [
    `${count("done")} done, ${count("failed")} failed, ${count("pending")} pending, ${count("waiting")} waiting`,
    `${scene.operations.length} commands, ${scene.kills} kills, ${scene.stops} stops`,
  ].join("; ");
}

/** All that may be enqueued is, and it has come to an end. */
function isFinished(scene, most) {
  const enqueued = scene.operations.reduce((sum, { enqueued: ids }) => sum + (ids?.length ?? 0), 0);
  if (enqueued < most) return false;
  return ["pending", "waiting"].every((state) => readdirSync(join(scene.run, state)).length === 0);
}

/** A worker ends when it is told to; refused at its start (status 5, 4) it may be. */
function deathsOf(scene, swarm) {
  return scene.deaths
    .filter(({ worker, status }) => swarm.has(worker) || ![4, 5].includes(status))
    .map(({ worker, status, said }) => ({
      kind: "bug",
      id: "-",
      text: `${worker} died with ${status}: ${said.trim().split("\n").slice(-4).join(" | ")}`,
    }));
}

function counts(scene, world) {
  const states = {};
  for (const [place] of world.places.values()) states[place.state] = (states[place.state] ?? 0) + 1;
  return {
    tasks: world.places.size,
    states,
    runs: world.journal.filter(({ what }) => what === "begin").length,
    commands: scene.operations.length,
    answeredWithAnError: scene.operations.filter(({ status }) => status !== 0 && status !== null)
      .length,
    killedCommands: scene.operations.filter(({ signal }) => signal === "SIGKILL").length,
    kills: scene.kills + world.strikes.filter(({ what }) => what === "die").length,
    stops: scene.stops,
    spoils: scene.spoils,
    troublesOfWorkers: scene.troubles,
    faults: countFaults(scene.strikesLog),
  };
}
