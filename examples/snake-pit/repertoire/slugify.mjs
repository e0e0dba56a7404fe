import { deburr } from "./deburr.mjs";

export function slugify(s) {
  const words =
    deburr(s)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  return words.join("-");
}
