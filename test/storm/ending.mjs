import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startWorker } from "./actors/workers.mjs";
import { bytesBelow } from "./read-world.mjs";
import { firstJson, sleep, uptime, within } from "./scene.mjs";

/**
 * The end of a storm: the actors stop, nothing goes wrong any more, and what is left must come right by
 * itself: reap, drain, doctor. Returns the crimes that are seen only here.
 */

const STOP_MS = 60_000;
const DRAIN_BASE_SECONDS = 120;
const DRAIN_SECONDS_PER_TASK = 0.2;
const GROWTH_BASE = 32 * 2 ** 20;
const GROWTH_PER_TASK = 16 * 1024;

/** Asks everything that runs to end; what does not within a while is killed and noted. */
export async function stopAll(scene, actors) {
  const crimes = [];
  for (const { child, worker } of scene.living.values()) if (worker) child.kill("SIGTERM");
  const all = Promise.all(actors);
  // Some stop themselves, even now; a signal waits until they go on.
  const waking = setInterval(() => {
    for (const { child } of scene.living.values()) child.kill("SIGCONT");
  }, 500);
  const isTimely = (await within(STOP_MS, all)) !== undefined;
  const isQuiet = (await within(STOP_MS, everyEnd(scene))) !== undefined;
  clearInterval(waking);
  for (const [pid, { name, child }] of isTimely && isQuiet ? [] : scene.living) {
    crimes.push({ kind: "hung", id: "-", text: `${name} (${pid}) does not end` });
    child.kill("SIGKILL");
  }
  await all;
  await everyEnd(scene);
  return crimes;
}

async function everyEnd(scene) {
  await Promise.all([...scene.living.values()].map(({ child }) => child.ended));
  return true;
}

/** What is left comes to its end without anybody's help but a reap. */
export async function settle(scene, report) {
  const crimes = [];
  await sleep(1500);
  await scene.command({ verb: "reap" }, ["reap", "--stale-after", "1"]);
  const waiting = readdirSync(join(scene.run, "waiting")).length;
  const pending = readdirSync(join(scene.run, "pending")).length;
  const limit = DRAIN_BASE_SECONDS + (waiting + pending) * DRAIN_SECONDS_PER_TASK;
  report(`drain: ${pending} pending, ${waiting} waiting`);
  const begin = uptime();
  const child = startWorker(scene, "drain", {
    flags: ["--drain", "--exit-zero", "--concurrency", "6"],
  });
  const ended = await within(limit * 1000, child.ended);
  if (ended === undefined) {
    const why = await scene.command({ verb: "status" }, ["status"]);
    const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
    crimes.push({
      kind: "hung",
      id: "-",
      text: `--drain for ${limit.toFixed(0)} s; ${stat}; ${why.out.slice(0, 500)}`,
    });
    child.kill("SIGKILL");
    await child.ended;
  } else if (ended.status !== 0) {
    const text = `--drain ended with ${ended.status ?? ended.signal}: ${child.said.text.slice(-500)}`;
    crimes.push({ kind: "bug", id: "-", text });
  }
  report(`drained in ${(uptime() - begin).toFixed(1)} s`);
  return crimes;
}

/** Doctor after the storm, and after its own repair. */
export async function examine(scene) {
  const first = findingsOf(await scene.command({ verb: "doctor" }, ["doctor"]));
  await scene.command({ verb: "doctor" }, ["doctor", "--fix"]);
  const second = findingsOf(await scene.command({ verb: "doctor" }, ["doctor"]));
  const crimes = second.map(({ code, path, message }) => ({
    kind: "doctor",
    id: path,
    text: `${code}: ${message}`,
  }));
  return { crimes, before: first };
}

/** Lines that a full disk tore stay torn, and doctor calls that healthy. */
function findingsOf({ out, message }) {
  const answer = firstJson(out);
  if (answer === undefined) return [{ code: "no answer", path: "-", message }];
  return answer.healthy ? [] : answer.findings.filter(({ code }) => code !== "torn_line");
}

/** Processes that carry the mark of this storm and are none of ours. They are ended. */
export function orphans(scene) {
  const crimes = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      const variables = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
      if (!variables.includes(`STORM=${scene.folder}`)) continue;
      if (/\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, "utf8"))) continue;
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      const id = variables.find((one) => one.startsWith("VIV_TASK_ID="))?.slice(12) ?? "-";
      crimes.push({ kind: "orphans", id, text: `process ${name}: ${line}` });
      process.kill(Number(name), "SIGKILL");
    } catch {
      // Gone meanwhile, or not ours to look at.
    }
  }
  return crimes;
}

export function growth(scene, tasks) {
  const bytes = bytesBelow(join(scene.run, ".viv"));
  const most = GROWTH_BASE + tasks * GROWTH_PER_TASK;
  return bytes <= most
    ? []
    : [{ kind: "growth", id: ".viv", text: `${bytes} bytes for ${tasks} tasks` }];
}
