import * as fc from "fast-check";

/** A property without waiting in it. (fc.assert may return a promise, for those that wait.) */
export function holds<Ts>(property: fc.IProperty<Ts>, parameters: fc.Parameters<Ts> = {}): void {
  void fc.assert(property, parameters);
}
