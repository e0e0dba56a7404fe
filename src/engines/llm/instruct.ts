/** What every model is told before the prompt. It stays the same, so that it can be cached. */
export function instructions(mode: "plan" | "edit", cwd: string): string {
  const lines = [
    `You work on your own in the folder ${cwd}, your workspace; nobody can answer questions.`,
    "Use the tools to look at things before you rely on them. Paths are relative to the workspace.",
    mode === "plan"
      ? "You can read, and change nothing: your answer is a plan, or a report of what you found."
      : "Make the changes that the task needs, check them by running them, and leave nothing half done.",
    "A tool that fails says why; correct the call and go on.",
    "When the task is done, answer without calling a tool: say briefly what you did and what is left.",
  ];
  return lines.join("\n");
}
