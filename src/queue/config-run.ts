import type { Section } from "../base/section.ts";

/** Keys that stand above the first table of viv.toml. */
export const runSection = ((top) => ({
  run: top.text("run", "the path of a directory"),
  onDependencyFailed: top.choice("on_dependency_failed", ["wait", "fail"]),
})) satisfies Section<unknown>;

/**
 * What a viv.toml says in its line `run = "…"` above all tables, whatever mistakes are beside it. "":
 * there is such a line, but in a table, or its value is no plain text; null: there is none.
 */
export function runLineOf(text: string): string | null {
  const [top = ""] = text.split(/^[ \t]*\[/m);
  // Below a table a text is a path that is misplaced; `run` of [budget] is none.
  if (!KEY.test(top) && !MISPLACED.test(text)) return null;
  const line = LINE.exec(top);
  return line?.[1] ?? line?.[2] ?? "";
}

const KEY = /^[ \t]*["']?run["']?[ \t]*=/m;
const MISPLACED = new RegExp(`${KEY.source}[ \\t]*["']`, "m");
const LINE = new RegExp(
  `${KEY.source}[ \\t]*(?:"([^"\\\\\\n]*)"|'([^'\\n]*)')[ \\t]*(?:#.*)?$`,
  "m",
);

/** A hint for a top key that stands below the first table by mistake. */
export function belongsOnTop(key: string): string | undefined {
  const isTopKey = key === "run" || key === "on_dependency_failed";
  return isTopKey ? "it belongs above the first table of the file" : undefined;
}
