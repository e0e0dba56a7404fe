// A thousand warrants that wait, listed by the command.

import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median, takeTurns } from "../lib/samples.mjs";

const WARRANTS = 1_000;

export default async function queue(bench) {
  const state = bench.workspace.fresh("warden-queue");
  mkdirSync(join(state, "warrants"), { recursive: true });
  for (let i = 0; i < WARRANTS; i++) {
    const warrant = { target: `session-${i}`, reason: "no_progress", requester: "deacon" };
    writeFileSync(join(state, "warrants", `w-${i}.json`), JSON.stringify(warrant));
  }
  const viv = join(bench.dist, "viv.cjs");
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const timed = (args) => {
    const begin = performance.now();
    const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}`);
    return { took: performance.now() - begin, stdout };
  };
  const { ours, node } = await takeTurns(
    {
      ours: () => {
        const { took, stdout } = timed([viv, "dog", "warrants", "--state-dir", state]);
        if (!stdout.includes(`session-${WARRANTS - 1} `)) throw new Error("not all were listed");
        return took;
      },
      node: () => timed(["-e", "0"]).took,
    },
    bench.quick ? 7 : 25,
  );
  const less = ours.map((took, i) => took - node[i]);
  bench.row({
    measure: "warden: viv dog warrants, 1,000 waiting, less what node -e 0 takes",
    ...{ ours: median(less), peer: median(node), unit: "ms", judged: "ours" },
    target: { under: 100 },
    samples: { ours: less, peer: node },
  });
}
