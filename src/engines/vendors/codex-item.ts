import type { Step } from "../step.ts";
import { asObject, type JsonObject, listAt, objectAt, stringAt } from "./json-line.ts";
import { targetOf, textStep, toolStep } from "./json-line-steps.ts";

export interface CodexItem {
  step: Step | null;
  /** What it said, when it is a message. */
  answer: string | null;
  isKnown: boolean;
}

/** One thing in a thread: a message, a thought, a call of a tool. */
export function codexItem(item: JsonObject | null): CodexItem {
  const text = stringAt(item, "text") ?? "";
  switch (stringAt(item, "type")) {
    case "agent_message":
      return { step: textStep("text", text), answer: text, isKnown: true };
    case "reasoning":
    case "plan":
      return known(textStep("thought", text));
    case "command_execution":
      return known(toolStep("shell", innerCommand(stringAt(item, "command") ?? "")));
    case "file_change":
      return known(toolStep("edit", changedPaths(item)));
    case "mcp_tool_call": {
      const name = [stringAt(item, "server"), stringAt(item, "tool")].filter(Boolean).join(".");
      return known(toolStep(name, targetOf(objectAt(item, "arguments"))));
    }
    case "collab_tool_call":
      return known(toolStep(stringAt(item, "tool") ?? "agent", stringAt(item, "prompt")));
    case "web_search":
      return known(toolStep("web_search", stringAt(item, "query")));
    case "error":
      return known(textStep("notice", stringAt(item, "message") ?? ""));
    case "todo_list":
      return known(null);
    default:
      return { step: null, answer: null, isKnown: false };
  }
}

function known(step: Step | null): CodexItem {
  return { step, answer: null, isKnown: true };
}

/** `/bin/bash -lc 'npm test'` is `npm test` to a reader. */
function innerCommand(command: string): string {
  const [, quote, inner] = /^\S*\b(?:ba|z)?sh -l?c (['"]?)([\s\S]*)\1$/.exec(command) ?? [];
  return inner === undefined || (quote !== "" && inner === "") ? command : inner;
}

function changedPaths(item: JsonObject | null): string {
  return listAt(item, "changes")
    .map((change) => stringAt(asObject(change), "path"))
    .filter(Boolean)
    .slice(0, 20)
    .join(" ");
}
