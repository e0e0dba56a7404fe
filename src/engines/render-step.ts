import type { Step } from "./step.ts";

/** A step as a line of the task's log; "" for one that only says what was used. */
export function renderStep({ kind, tool, target, text }: Step): string {
  if (kind === "tool") return `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}\n`;
  if (text === undefined || text === "") return "";
  const lines = text.trimEnd().split("\n");
  const mark = { text: "", thought: "… ", notice: "! " }[kind];
  return lines.map((line) => `${mark}${line}\n`).join("");
}
