import { appendFileSync } from "node:fs";
import { commandTrouble } from "../machine-errors.mjs";
import { firstJson, sleep, uptime } from "../scene.mjs";

/**
 * A worker as a loop in a shell: viv claim, work, viv complete or viv fail, each a process of its own.
 * After an error it says the same again, as one would; after a kill too, for it got no answer.
 */
const TRIES = 15;

export async function shellWorker(scene, chance, { name }) {
  while (!scene.isOver) {
    const claimed = await scene.command(
      { verb: "claim", worker: name },
      ["claim", "--worker", name],
      commandTrouble(scene, chance, { often: 0.7 }),
    );
    const task = claimed.status === 0 ? firstJson(claimed.out) : undefined;
    if (task === undefined) {
      await sleep(chance.between(50, 500));
      continue;
    }
    claimed.id = task.task_id;
    claimed.token = task.token;
    const { task_id: id, token, attempt } = task;
    const isBad = task.task_type === "fails" || chance.isTrue(0.1);
    journal(
      scene,
      `b ${id} ${token} ${attempt} ${process.pid} ${uptime().toFixed(2)} - lease ${name}`,
    );
    await sleep(chance.between(0, 100));
    journal(scene, `e ${id} ${token} ${process.pid} ${uptime().toFixed(2)} ${isBad ? 1 : 0}`);
    await end(scene, chance, { id, token, worker: name, verb: isBad ? "fail" : "complete" });
  }
}

async function end(scene, chance, { id, token, worker, verb }) {
  for (let tries = 1; tries <= TRIES; tries++) {
    const operation = await scene.command(
      { verb, id, token, worker, tries },
      [verb, id, "--worker", worker, "--token", token],
      commandTrouble(scene, chance, { often: 2 }),
    );
    const { to, outcome } = firstJson(operation.out) ?? {};
    Object.assign(operation, { to, outcome });
    if (operation.status === 0 || outcome === "unproven") return;
    if (operation.status !== null) operation.after = scene.placeOf(id);
    if (operation.code === "CLAIM_LOST") return;
    await sleep(chance.between(50, 700));
  }
}

function journal(scene, line) {
  appendFileSync(scene.journal, `${line}\n`);
}
