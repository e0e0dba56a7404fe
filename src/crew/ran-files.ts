import { ranFileOf } from "./lifecycle.ts";

/**
 * Who writes which `lifecycle-ran-` file. Their names are the seed's, so two members can mean the same one;
 * then each would keep the other from its state. The first that comes has it.
 */
export class RanFiles {
  readonly #owners = new Map<string, { key: string; state: string }>();
  readonly #files = new Map<string, string[]>();

  /** The states of one member, in the place of those it had. What is wrong with that, or null. */
  take(key: string, states: readonly string[]): string | null {
    this.release(key);
    const files: string[] = [];
    this.#files.set(key, files);
    for (const state of states) {
      const file = ranFileOf(key, state);
      const owner = this.#owners.get(file);
      if (owner !== undefined) {
        this.release(key);
        const whose = owner.key === key ? "its own state" : `${owner.key} in its state`;
        const what = `its state ${state} would share the file ${file} with ${whose} ${owner.state}`;
        return `${what}; rename one of them, then: viv crew resume`;
      }
      this.#owners.set(file, { key, state });
      files.push(file);
    }
    return null;
  }

  release(key: string): void {
    for (const file of this.#files.get(key) ?? []) this.#owners.delete(file);
    this.#files.delete(key);
  }
}
