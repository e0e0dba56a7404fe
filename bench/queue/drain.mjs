// How fast workers empty a queue that is full, in durability `fast`: beside bare renames of as many
// processes, and beside a table in SQLite. Every process, also of the others, first drains a small
// queue of its own: a worker lives for hours, and node needs a few thousand tasks to compile it
// well. What a worker reaches that has just started is in the row "cold".

import { drainTogether, start } from "../lib/child.mjs";
import { fillBare, fillOurs, fillSqlite } from "../lib/fill.mjs";
import { whyNoSqlite } from "../lib/peers.mjs";
import { median, pairedRatio, ROUNDS, takeTurns } from "../lib/samples.mjs";

const WARM_UP = 2_000;

export default async function drain(bench) {
  const size = bench.quick ? 2_000 : 10_000;
  const noSqlite = whyNoSqlite();
  for (const workers of [1, 4]) {
    const rate = (contestant, warmUp) => () =>
      measure(bench, { size, workers, warmUp }, contestant);
    const contestants = { ours: rate(ours, WARM_UP), bare: rate(bare, WARM_UP) };
    if (noSqlite === null) {
      contestants.OFF = rate(sqlite("OFF"), WARM_UP);
      contestants.NORMAL = rate(sqlite("NORMAL"), WARM_UP);
    }
    if (workers === 1) {
      contestants.coldOurs = rate(ours, 0);
      contestants.coldBare = rate(bare, 0);
    }
    const many = workers === 1 ? "1 worker" : `${workers} workers`;
    const samples = await takeTurns(contestants, bench.quick ? 3 : ROUNDS, (round) =>
      bench.progress(`${many}, round ${round}`),
    );
    report(bench, `drain ${size.toLocaleString("en-US")}, ${many}`, samples, noSqlite);
  }
}

function report(bench, what, samples, noSqlite) {
  const row = (name, ours, peer, target) =>
    bench.row({
      measure: `${what}: ${name}`,
      ours: median(ours),
      peer: median(peer),
      unit: "/s",
      ratio: pairedRatio(ours, peer),
      target,
      samples: { ours, peer },
    });
  row("bare renames", samples.ours, samples.bare, { atLeast: 0.5 });
  if (samples.coldOurs) row("bare renames, cold", samples.coldOurs, samples.coldBare);
  for (const mode of ["OFF", "NORMAL"]) {
    const name = `SQLite, synchronous=${mode}`;
    if (noSqlite === null) row(name, samples.ours, samples[mode], { moreThan: 1 });
    else bench.row({ measure: `${what}: ${name}`, skipped: noSqlite });
  }
}

/** Tasks per second. */
async function measure(bench, { size, workers, warmUp }, contestant) {
  const configure = await contestant(bench, size, workers);
  if (!bench.quick) bench.workspace.settle();
  const children = await Promise.all(
    Array.from({ length: workers }, (_, i) => {
      const { program, config, execArgv } = configure(i);
      return start(program, { ...config, worker: `w${i}`, warmUp }, execArgv);
    }),
  );
  const ns = await drainTogether(children, size);
  for (const child of children) await child.stop();
  return Math.round((size * 1e9) / ns);
}

async function ours(bench, size) {
  const config = {
    library: bench.library,
    runs: [await fillOurs(bench, size)],
    durability: "fast",
  };
  return () => ({ program: "ours", config, execArgv: bench.execArgv });
}

function bare(bench, size, shares) {
  const runs = [fillBare(bench, size)];
  return (share) => ({ program: "bare", config: { runs, share, shares } });
}

function sqlite(synchronous) {
  return (bench, size) => {
    const file = fillSqlite(bench, size);
    return () => ({ program: "sqlite", config: { file, synchronous } });
  };
}
