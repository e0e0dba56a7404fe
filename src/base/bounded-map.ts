/** Sets a key, and forgets the one that was added first when there are more than `most`. */
export function setBounded<K, V>(all: Map<K, V>, key: K, value: V, most: number): void {
  all.set(key, value);
  const [oldest] = all.keys();
  if (all.size > most) all.delete(oldest as K);
}
