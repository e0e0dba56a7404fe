/** Which trouble whom befalls: faults for commands and workers, and when a command is killed. */

const CODES = ["ENOSPC", "EIO", "EMFILE", "EROFS", "EDQUOT"];

/** Of one command: mostly nothing, else one thing at one of its calls, or kill -9 at some moment. */
export function commandTrouble(scene, chance, { often = 1 } = {}) {
  // All numbers are drawn whatever comes of them, so that a switch changes nothing about the rest.
  const what = chance.weighted({
    none: 8 / often,
    burst: 2,
    single: 2,
    short: 0.6,
    slow: 1,
    die: 1,
    stop: 0.3,
    "die-commit": 0.3,
    "stop-commit": 0.3,
    kill: 1.5,
  });
  const call = chance.whole(1, 45);
  const code = chance.pick(CODES);
  const ms = chance.between(100, 3000);
  const killAfterMs = chance.between(40, 400);
  const seed = chance.whole(1, 2 ** 31);
  const { parts } = scene;
  const event = {
    call: what.endsWith("-commit") ? 1 : call,
    what,
    ...(what === "burst" || what === "single" ? { code } : {}),
    ...(what === "burst" ? { ms } : {}),
  };
  if (what === "none" || !parts.has(PART_OF[what])) return {};
  if (what === "kill") return { killAfterMs };
  return { faults: { seed, at: [event] } };
}

const PART_OF = {
  burst: "faults",
  single: "faults",
  short: "faults",
  slow: "slow",
  die: "kills",
  stop: "stops",
  "die-commit": "kills",
  "stop-commit": "stops",
  kill: "kills",
};

/** Of a worker, which lives for long: about every so many seconds. */
export function workerTrouble(scene, chance) {
  const every = {
    burst: 12,
    single: 4,
    short: 15,
    slow: 5,
    die: 40,
    stop: 50,
    "die-commit": 30,
    "stop-commit": 40,
  };
  for (const what of Object.keys(every)) if (!scene.parts.has(PART_OF[what])) delete every[what];
  return { seed: chance.whole(1, 2 ** 31), every };
}
