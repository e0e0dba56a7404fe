import { FIELD, jsonl, proof, script, setUp, type Template, toml, worker } from "./template.ts";

/** Agents on this repository: a worktree for each task, proof by its tests. */
export const fleet: Template = (found) => ({
  files: [
    {
      path: "viv.toml",
      text: toml(found, [
        "# A fleet on this repository: every task has a git worktree and a branch of its own, and is done",
        "# only when the proof passes there. viv config check finds mistakes; workers read changes at once.",
        "",
        ['run = ".viv/fleet"', "tasks, logs and worktrees; git ignores it"],
        "",
        ["[workers]", "of viv up"],
        ["count = 3"],
        "",
        ["[handlers.default]", "every type of task; [handlers.NAME] is for one"],
        ...worker(found, { prompt: "viv/task.md", script: "viv/handle.sh" }),
        ['workspace = "worktree"', "branch viv/TASK@fleet, from HEAD"],
        ['repository = "."'],
        ...setUp(found),
        proof(found),
        ['timeout = "45m"', "of an attempt"],
        ["max_attempts = 3", "an unproven attempt is tried again, with the evidence"],
        ['backoff = "10s"'],
        ["# review = true", "you approve each task: viv approve TASK"],
        "",
        "[limits]",
        ["review = 10", "claim nothing while this many tasks wait for you"],
        "",
        "[merge]",
        ['strategy = "merge"', "or squash, rebase"],
        ["auto = false", "true: viv work merges what is done and proven again"],
        "",
        ["# [budget]", "of all tasks together"],
        ["# day = { usd = 20.00 }"],
      ]),
    },
    {
      path: "viv/task.md",
      text: `You work on this repository, in a git worktree of your own. The task:

{{payload.goal}}

Change what it needs and nothing else. It counts when the proof passes: ${found.test?.command ?? "a change is there"}.
{{note}}
{{evidence}}
`,
    },
    ...script(
      found,
      "viv/handle.sh",
      `# Does every task until an agent takes its place. It runs in the task's worktree; what it changes is
# committed on the task's branch when the proof passes.
set -eu
${FIELD}
echo "- $VIV_TASK_ID: $(field goal)" >>NOTES.md
`,
    ),
    {
      path: "viv/tasks.jsonl",
      text: jsonl({
        ...{ id: "t.1", type: "task" },
        payload: { goal: "Add NOTES.md: one paragraph on what this repository is for." },
      }),
    },
  ],
  ignore: [".viv"],
  next: [
    "viv up --detach",
    "viv enqueue --jsonl viv/tasks.jsonl",
    "viv watch --until-idle",
    "viv diff t.1",
    "viv merge t.1",
    "viv report",
    "viv down",
  ],
});
