import { sleep } from "../scene.mjs";

/** A swarm-lib-like worker in Python, started again whenever it was killed. */
export async function swarmWorker(scene, chance, { name }) {
  while (!scene.isOver) {
    const args = [scene.program("swarm_worker.py"), scene.run, name, scene.folder];
    const child = scene.start(name, "python3", args, { worker: name });
    child.stdout.resume();
    let said = "";
    child.stderr.on("data", (text) => {
      said += text;
    });
    const { status, signal, error } = await child.ended;
    if (scene.isOver) return;
    if (signal === null) {
      scene.deaths.push({ worker: name, status: status ?? error?.code, said: said.slice(-1500) });
    }
    await sleep(chance.between(200, 1000));
  }
}
