/**
 * Repeatable randomness (mulberry32). Every actor has a stream of its own, made from the seed and its
 * name, so that what one of them does changes nothing about what another one decides.
 */
export class Chance {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** A stream of its own for somebody with this name. */
  of(name) {
    let hash = this.#state ^ 0x811c9dc5;
    for (const char of name) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
    return new Chance(hash ^ (hash >>> 15));
  }

  /** At least 0, less than 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  isTrue(probability) {
    return this.next() < probability;
  }

  between(low, high) {
    return low + this.next() * (high - low);
  }

  whole(low, high) {
    return Math.floor(this.between(low, high + 1));
  }

  pick(list) {
    return list[Math.floor(this.next() * list.length)];
  }

  /** `weights`: how often each key comes, in relation to the others. */
  weighted(weights) {
    const entries = Object.entries(weights);
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    return entries.at(-1)[0];
  }
}
