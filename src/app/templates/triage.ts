import { FIELD, jsonl, script, type Template, toml, when, worker } from "./template.ts";

/** A queue of issues: a cheap model sorts and answers, a dear one gets what is not proven. */
export const triage: Template = (found) => ({
  files: [
    {
      path: "viv.toml",
      text: toml(found, [
        "# Triage: each issue is a task. The answer must name a class; without one the next attempt is made",
        "# with the evidence, by the next tier.",
        "",
        ['run = ".viv/triage"', "tasks, logs and answers; git ignores it"],
        "",
        "[handlers.issue]",
        ...worker(found, { prompt: "viv/issue.md", script: "viv/issue.sh" }),
        ...when(
          found.agent === "claude",
          ['tiers = { small = "haiku", large = "opus" }', "the cheaper first"],
          ["escalate_after = 1", "not proven: the next tier"],
        ),
        [`done_when = 'grep -Eqx "Class: (bug|feature|question)" "$VIV_ARTIFACT_PATH"'`],
        ['timeout = "10m"'],
        ["max_attempts = 3"],
        ['backoff = "5s"'],
        "",
        ["# [warden]", "asks agents that are stuck before it ends them: viv warden up"],
        [`# rules = { no_output = { after = "10m", action = "file" } }`],
      ]),
    },
    {
      path: "viv/issue.md",
      text: `Sort this issue. Title: {{payload.title}}

{{payload.text}}

Write your answer into the file whose path is in the variable VIV_ARTIFACT_PATH, and change no other file.
Its first line is one of "Class: bug", "Class: feature", "Class: question". Then, in at most five sentences:
what is asked for, what is missing, and the first step.
{{evidence}}
`,
    },
    ...script(
      found,
      "viv/issue.sh",
      `# Sorts issues by their words until an agent takes its place.
set -eu
${FIELD}
case $(field title) in
*crash* | *error* | *broken*) class=bug ;;
*'?') class=question ;;
*) class=feature ;;
esac
printf 'Class: %s\\n' "$class" >"$VIV_ARTIFACT_PATH"
`,
    ),
    {
      path: "viv/issues.jsonl",
      text: jsonl(
        {
          ...{ id: "issue.1", type: "issue", priority: "high" },
          payload: { title: "A crash on start", text: "It ends at once after the update." },
        },
        {
          ...{ id: "issue.2", type: "issue" },
          payload: { title: "Is there a dark mode?", text: "I could not find one." },
        },
      ),
    },
  ],
  ignore: [".viv"],
  next: [
    "viv enqueue --jsonl viv/issues.jsonl",
    "# issues of a forge: viv import --from gh --label agent",
    "viv work --concurrency 2 --drain",
    "viv ls",
    "head .viv/triage/artifacts/issue.*.md",
  ],
});
