/** Repeatable randomness (mulberry32): the same seed, the same story. */
export function seeded(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** VIV_SEED repeats a run that failed; otherwise each run tells another story, and says which. */
export function chooseSeed(what: string): number {
  const seed = Number(process.env.VIV_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`${what}: seed ${seed} (repeat with VIV_SEED=${seed})`);
  return seed;
}
