// Machines are noisy: what counts is how two things compare when they take turns.

export const ROUNDS = 5;

export function median(values) {
  return percentile(values, 50);
}

export function percentile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = (sorted.length - 1) * (percent / 100);
  const below = sorted[Math.floor(rank)];
  return below + (sorted[Math.ceil(rank)] - below) * (rank - Math.floor(rank));
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** The median of the ratios of neighbours: a slow moment of the machine hits both of a pair. */
export function pairedRatio(ours, theirs) {
  return median(ours.map((value, i) => value / theirs[i]));
}

/**
 * Each contestant in turn, `rounds` times, after one round that does not count. `contestants` is
 * { name: async () => number }; returns { name: numbers }.
 */
export async function takeTurns(contestants, rounds = ROUNDS, progress = () => {}) {
  const samples = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      const value = await run();
      if (round > 0) samples[name].push(value);
    }
    if (round > 0) progress(round);
  }
  return samples;
}
