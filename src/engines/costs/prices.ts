/** What a model costs: dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  /** Without one, what comes from the cache is priced as input: too dear, but never too cheap. */
  cachedRead?: number | undefined;
  /** Without one, as input: most vendors ask nothing extra. */
  cachedWrite?: number | undefined;
  /** What an answer costs whose prompt, cached parts included, has more tokens than `above`. */
  long?: Omit<Price, "long"> & { above: number };
}

/** By the model's name, or by how names begin, with a star at the end: `claude-opus-4*`. */
export type PriceTable = ReadonlyMap<string, Price>;

/** Who says what it cost: the vendor, or our price table. */
export type DollarSource = "reported" | "imputed";
