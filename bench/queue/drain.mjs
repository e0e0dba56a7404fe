// How fast workers empty a queue that is full, in durability `fast`: beside bare renames of as many
// processes, and beside a table in SQLite. Every process, also of the others, has drained some
// thousands of tasks of the same queue before the clock starts: a worker lives for hours, and node
// needs that long to compile it well. What a worker reaches that has just started is in the rows
// "cold".

import { drainTogether, start } from "../lib/child.mjs";
import { fillBare, fillOurs, fillSqlite } from "../lib/fill.mjs";
import { whyNoSqlite } from "../lib/peers.mjs";
import { median, pairedRatio, ROUNDS, takeTurns } from "../lib/samples.mjs";

const WARM_UP = 20_000;

export default async function drain(bench) {
  const size = bench.quick ? 2_000 : 10_000;
  const noSqlite = whyNoSqlite();
  for (const workers of [1, 4]) {
    const warm = (contestant) => () =>
      measure(bench, { size, workers, warmUp: bench.quick ? 2_000 : WARM_UP }, contestant);
    const cold = (contestant) => () => measure(bench, { size, workers, warmUp: 0 }, contestant);
    const contestants = { ours: warm(ours), bare: warm(bare) };
    if (noSqlite === null) {
      contestants.OFF = warm(sqlite("OFF"));
      contestants.NORMAL = warm(sqlite("NORMAL"));
    }
    contestants.coldOurs = cold(ours);
    contestants.coldBare = cold(bare);
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
  row("bare renames, cold", samples.coldOurs, samples.coldBare);
  for (const mode of ["OFF", "NORMAL"]) {
    const name = `SQLite, synchronous=${mode}`;
    // With OFF a power cut may ruin the whole file; NORMAL, like `fast`, may lose the last moments.
    const target = mode === "NORMAL" ? { moreThan: 1 } : undefined;
    if (noSqlite === null) row(name, samples.ours, samples[mode], target);
    else bench.row({ measure: `${what}: ${name}`, skipped: noSqlite });
  }
}

/** Tasks per second. */
async function measure(bench, { size, workers, warmUp }, contestant) {
  const configure = await contestant(bench, size + workers * warmUp, workers);
  if (!bench.quick) bench.workspace.settle();
  const children = await Promise.all(
    Array.from({ length: workers }, (_, i) => {
      const { program, config, execArgv } = configure(i);
      return start(program, { ...config, worker: `w${i}` }, execArgv);
    }),
  );
  if (warmUp > 0) await Promise.all(children.map((child) => child.ask({ limit: warmUp })));
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
