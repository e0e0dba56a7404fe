// Ours against the bare loop, one process each, slice by slice in turns: what slows the machine
// down for a while slows both.

import { start } from "./child.mjs";
import { median, pairedRatio, takeTurns } from "./samples.mjs";

/** `ours` and `bare` are { program, config }; each turn handles `limit` tasks. */
export async function duel(bench, { measure, ours, bare, limit, rounds, target }) {
  const children = {
    ours: await start(ours.program, ours.config, bench.execArgv),
    bare: await start(bare.program, bare.config),
  };
  const rateOf = (child) => async () => {
    const { count, begin, last } = await child.ask({ limit });
    if (count !== limit) throw new Error(`${count} tasks instead of ${limit}`);
    return Math.round((count * 1e9) / (last - begin));
  };
  const samples = await takeTurns(
    { ours: rateOf(children.ours), bare: rateOf(children.bare) },
    rounds,
    (round) => bench.progress(`${measure}, round ${round}`),
  );
  await children.ours.stop();
  await children.bare.stop();
  bench.row({
    measure,
    ours: median(samples.ours),
    peer: median(samples.bare),
    unit: "/s",
    ratio: pairedRatio(samples.ours, samples.bare),
    target,
    samples: { ours: samples.ours, peer: samples.bare },
  });
}
