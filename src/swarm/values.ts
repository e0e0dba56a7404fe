/** What a command line said, by flag. A flag that was left out is not in it. */
export class Values {
  readonly #given: ReadonlyMap<string, string | bigint | true>;

  constructor(given: ReadonlyMap<string, string | bigint | true>) {
    this.#given = given;
  }

  /** Of a flag that the command requires. */
  text(flag: string): string {
    return this.maybe(flag) ?? "";
  }

  maybe(flag: string): string | undefined {
    const value = this.#given.get(flag);
    return typeof value === "string" ? value : undefined;
  }

  /** The value, or undefined when it is empty: swarm-lib takes an empty text for none. */
  filled(flag: string): string | undefined {
    return this.maybe(flag) || undefined;
  }

  /** The parts between commas, as they are. */
  list(flag: string): string[] | undefined {
    return this.filled(flag)?.split(",");
  }

  whole(flag: string, otherwise: bigint): bigint {
    const value = this.#given.get(flag);
    return typeof value === "bigint" ? value : otherwise;
  }

  has(flag: string): boolean {
    return this.#given.has(flag);
  }
}
