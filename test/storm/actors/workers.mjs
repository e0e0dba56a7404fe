import { createInterface } from "node:readline";
import { workerTrouble } from "../machine-errors.mjs";
import { sleep, uptime, within } from "../scene.mjs";

/** `viv work`, again and again: whatever ends it, the next one begins, mostly under the same name. */
export async function keepWorking(scene, chance, { name, concurrency, durability }) {
  for (let life = 1; !scene.isOver; life++) {
    const worker = chance.isTrue(0.8) ? name : `${name}-${life}`;
    const child = startWorker(scene, worker, {
      flags: ["--concurrency", String(concurrency), "--durability", durability],
      faults: workerTrouble(scene, chance),
    });
    // Now and then a deploy: it is asked to end, and ends what it has begun.
    const polite = setTimeout(() => child.kill("SIGTERM"), chance.between(20, 90) * 1000);
    const stopped = child.ended;
    while (!scene.isOver && (await within(500, stopped)) === undefined);
    clearTimeout(polite);
    if (scene.isOver) return;
    const { status, signal } = await stopped;
    if (status !== 0 && signal === null) {
      scene.deaths.push({ worker, status, at: uptime(), said: child.said.text.slice(-1500) });
    }
    await sleep(chance.isTrue(0.5) ? chance.between(50, 500) : chance.between(500, 4000));
  }
}

export function startWorker(scene, worker, { flags = [], faults } = {}) {
  const args = [scene.viv, "work", "--run", scene.run, "--json", "--worker-id", worker];
  args.push("--handler", scene.program("handler.sh"), "--kill-after", "1s", ...flags);
  args.push("--heartbeat-interval", "1", "--poll-interval", "1");
  const child = scene.start(worker, process.execPath, args, { faults, worker });
  child.said = { text: "" };
  child.stderr.setEncoding("utf8").on("data", (text) => {
    child.said.text = (child.said.text + text).slice(-8000);
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      return; // half a line, of one that was killed
    }
    if (event.kind === "ended") scene.acknowledged.push({ worker, ...event, at: uptime() });
    if (event.kind === "trouble") scene.troubles++;
    child.last = event;
  });
  return child;
}
