// How fast workers empty a queue that is full, in durability `fast`: beside bare renames of as many
// processes, and beside a table in SQLite.

import { drainTogether, start } from "../lib/child.mjs";
import { fillBare, fillOurs, fillSqlite } from "../lib/fill.mjs";
import { whyNoSqlite } from "../lib/peers.mjs";
import { median, pairedRatio, ROUNDS, takeTurns } from "../lib/samples.mjs";

export default async function drain(bench) {
  const size = bench.quick ? 2_000 : 10_000;
  const noSqlite = whyNoSqlite();
  for (const workers of [1, 4]) {
    const contestants = {
      ours: () => rate(bench, size, workers, ours),
      bare: () => rate(bench, size, workers, bare),
    };
    if (noSqlite === null) {
      contestants.OFF = () => rate(bench, size, workers, sqlite("OFF"));
      contestants.NORMAL = () => rate(bench, size, workers, sqlite("NORMAL"));
    }
    const samples = await takeTurns(contestants, bench.quick ? 3 : ROUNDS, (round) =>
      bench.progress(`${workers} workers, round ${round}`),
    );
    const many = workers === 1 ? "1 worker" : `${workers} workers`;
    report(bench, `drain ${size.toLocaleString("en-US")}, ${many}`, samples, noSqlite);
  }
}

function report(bench, what, samples, noSqlite) {
  const ours = median(samples.ours);
  const row = (name, peer, target) =>
    bench.row({
      measure: `${what}: ${name}`,
      ours,
      peer: median(peer),
      unit: "/s",
      ratio: pairedRatio(samples.ours, peer),
      target,
      samples: { ours: samples.ours, peer },
    });
  row("bare renames", samples.bare, { atLeast: 0.5 });
  for (const mode of ["OFF", "NORMAL"]) {
    const name = `SQLite, synchronous=${mode}`;
    if (noSqlite === null) row(name, samples[mode], { moreThan: 1 });
    else bench.row({ measure: `${what}: ${name}`, skipped: noSqlite });
  }
}

async function rate(bench, size, workers, contestant) {
  const configure = await contestant(bench, size, workers);
  if (!bench.quick) bench.workspace.settle();
  const children = await Promise.all(
    Array.from({ length: workers }, (_, i) => {
      const { program, config, execArgv } = configure(i);
      return start(program, config, execArgv);
    }),
  );
  const ns = await drainTogether(children, size);
  for (const child of children) await child.stop();
  return Math.round((size * 1e9) / ns);
}

async function ours(bench, size) {
  const runs = [await fillOurs(bench, size)];
  return (i) => ({
    program: "ours",
    config: { library: bench.library, runs, worker: `w${i}`, durability: "fast" },
    execArgv: bench.execArgv,
  });
}

function bare(bench, size, shares) {
  const runs = [fillBare(bench, size)];
  return (share) => ({ program: "bare", config: { runs, worker: `w${share}`, share, shares } });
}

function sqlite(synchronous) {
  return (bench, size) => {
    const file = fillSqlite(bench, size);
    return (i) => ({ program: "sqlite", config: { file, worker: `w${i}`, synchronous } });
  };
}
