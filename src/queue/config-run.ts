import type { Section } from "../base/section.ts";

/** Keys that stand above the first table of viv.toml. */
export const runSection = ((top) => ({
  run: top.text("run", "the path of a directory"),
  onDependencyFailed: top.choice("on_dependency_failed", ["wait", "fail"]),
})) satisfies Section<unknown>;

/** A hint for a top key that stands below the first table by mistake. */
export function belongsOnTop(key: string): string | undefined {
  const isTopKey = key === "run" || key === "on_dependency_failed";
  return isTopKey ? "it belongs above the first table of the file" : undefined;
}
