// Twenty dances in which nothing happens: what they cost. And how long it takes from an answer on a
// terminal to the pardon, with nineteen others beside it.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { percentile } from "../lib/samples.mjs";

const DANCES = 20;
const TICKS_PER_SECOND = 100;

export default async function dances(bench) {
  const folder = bench.workspace.fresh("warden");
  const state = join(folder, "state");
  mkdirSync(join(state, "warrants"), { recursive: true });
  const socket = join(folder, "s");
  const tmux = (...args) => {
    const command = ["-f", "/dev/null", "-S", socket, ...args];
    const { status, stdout, stderr } = spawnSync("tmux", command, { encoding: "utf8" });
    if (status !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  };
  for (let i = 0; i < DANCES; i++) tmux("new-session", "-d", "-s", `s${i}`, "sleep", "100000");
  for (let i = 0; i < DANCES; i++) file(state, socket, `s${i}`);
  const args = ["warden", "up", "--state-dir", state, "--pool", "20", "--timeouts", "1h,1h,1h"];
  const warden = spawn(process.execPath, [join(bench.dist, "viv.cjs"), ...args], {
    cwd: folder,
    stdio: "ignore",
  });
  try {
    await until("all are asked", () => asked(state).length === DANCES);
    await delay(3_000);
    const server = Number(tmux("display-message", "-p", "#{pid}"));
    const seconds = bench.quick ? 5 : 30;
    const before = [ticksOf(warden.pid), ticksOf(server)];
    await delay(seconds * 1000);
    const percent = [warden.pid, server].map(
      (pid, i) => (100 * (ticksOf(pid) - before[i])) / TICKS_PER_SECOND / seconds,
    );
    const row = (measure, rest) => bench.row({ measure: `warden: ${measure}`, ...rest });
    row(`${DANCES} dances between events: CPU in ${seconds} s, with what it starts`, {
      ...{ ours: percent[0], unit: "%", judged: "ours", target: { under: 1 } },
    });
    row("… of the tmux server, for them", { ours: percent[1], unit: "%" });
    const took = await answers(bench, state, tmux);
    row("from an answer on the terminal to the pardon, p50", {
      ...{ ours: percentile(took, 50), unit: "ms", judged: "ours", target: { under: 300 } },
    });
    row("from an answer on the terminal to the pardon, the longest", {
      ...{ ours: Math.max(...took), unit: "ms", judged: "ours", target: { under: 300 } },
    });
  } finally {
    warden.kill("SIGKILL");
    tmux("kill-server");
  }
}

/** Each dance in turn gets its answer: the words are written to the terminal as a program would. */
async function answers(bench, state, tmux) {
  const took = [];
  for (const dance of asked(state).slice(0, bench.quick ? 5 : DANCES)) {
    const tty = tmux("display-message", "-p", "-t", dance.bound.session, "#{pane_tty}");
    const begin = performance.now();
    writeFileSync(tty, `ALIVE ${dance.attempts[0].nonce}\n`);
    const receipt = join(state, "completed", `${dance.id}.json`);
    await until("it is pardoned", () => existsSync(receipt), 2);
    took.push(performance.now() - begin);
    await delay(200);
  }
  return took;
}

function file(state, socket, target) {
  const warrant = { target, socket, reason: "a bench", requester: "bench" };
  writeFileSync(join(state, "warrants", `w-${target}.json`), JSON.stringify(warrant));
}

function asked(state) {
  const active = join(state, "active");
  if (!existsSync(active)) return [];
  return readdirSync(active)
    .filter((name) => /^dog-\d+\.json$/.test(name))
    .map((name) => JSON.parse(readFileSync(join(active, name), "utf8")))
    .filter(({ attempts }) => attempts[0]?.asked_at);
}

/** Its own, and that of all it has started and waited for. */
function ticksOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

async function until(what, isSo, pauseMs = 20) {
  const end = Date.now() + 120_000;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`gave up: ${what}`);
    await delay(pauseMs);
  }
}
