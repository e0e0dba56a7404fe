/** The words of a filter (`type:fix,port worker:ada money`), as a person and the chips change them. */

/** Whether the filter has `key:value`, alone or in a list. */
export function hasWord(filter: string, key: string, value: string): boolean {
  return valuesOf(filter, key).includes(value);
}

/** The values of `key:` in the filter; those with a minus in front are other words. */
export function valuesOf(filter: string, key: string): string[] {
  return wordsOf(filter)
    .filter((word) => word.startsWith(`${key}:`))
    .flatMap((word) => word.slice(key.length + 1).split(","))
    .filter(Boolean);
}

/** Adds `key:value`, or takes it away: several values of one key are one word. */
export function toggleWord(filter: string, key: string, value: string): string {
  const given = valuesOf(filter, key);
  const values = given.includes(value) ? given.filter((one) => one !== value) : [...given, value];
  return withValues(filter, key, values);
}

export function withValues(filter: string, key: string, values: readonly string[]): string {
  const others = wordsOf(filter).filter((word) => !word.startsWith(`${key}:`));
  const word = values.length > 0 ? [`${key}:${values.join(",")}`] : [];
  return [...word, ...others].join(" ");
}

function wordsOf(filter: string): string[] {
  return filter.split(/\s+/).filter(Boolean);
}
