import {
  FIELD,
  jsonl,
  proof,
  script,
  setUp,
  type Template,
  toml,
  when,
  worker,
} from "./template.ts";

const STEPS = ["plan", "implement", "check"] as const;
type Step = (typeof STEPS)[number];

/** Steps that wait for each other: each begins when the one before it is proven. */
export const chain: Template = (found) => {
  const isGit = found.git === "top";
  const route = (step: Step) => worker(found, { prompt: `viv/${step}.md`, script: "viv/step.sh" });
  return {
    files: [
      {
        path: "viv.toml",
        text: toml(found, [
          "# A chain: plan, implement, check. Each step begins when the one before it is proven, and reads",
          "# what that has left in its artifact. viv tree shows it.",
          "",
          ['run = ".viv/chain"', "tasks, logs and artifacts; git ignores it"],
          "",
          "[handlers.plan]",
          ...route("plan"),
          [`done_when = 'grep -q "^1\\. " "$VIV_ARTIFACT_PATH"'`, "a plan with numbered steps"],
          ['timeout = "15m"'],
          ["max_attempts = 2"],
          "",
          "[handlers.implement]",
          ...route("implement"),
          ...when(
            isGit,
            ['workspace = "worktree"', "branch viv/TASK@chain, from HEAD"],
            ['repository = "."'],
            ...setUp(found),
            proof(found),
          ),
          ...when(
            !isGit,
            ['workspace = "dir"', "a folder; in a git repository: worktree"],
            found.test?.from === null
              ? proof(found)
              : [`done_when = 'test -n "$(ls)"'`, "put your tests here"],
          ),
          ['timeout = "45m"'],
          ["max_attempts = 3", "an unproven attempt is tried again, with the evidence"],
          "",
          "[handlers.check]",
          ...route("check"),
          [`done_when = 'grep -q "^Verdict: good" "$VIV_ARTIFACT_PATH"'`],
          ['timeout = "15m"'],
          ["max_attempts = 2"],
        ]),
      },
      ...STEPS.map((step) => ({ path: `viv/${step}.md`, text: PROMPTS[step] })),
      ...script(found, "viv/step.sh", SCRIPT),
      {
        path: "viv/tasks.jsonl",
        text: jsonl(
          ...STEPS.map((step, i) => ({
            ...{ id: `notes.${step}`, type: step },
            ...(i === 0 ? {} : { depends_on: [`notes.${STEPS[i - 1]}`], parent: "notes.plan" }),
            payload: { name: "notes", goal: "Add NOTES.md: one paragraph on what is here." },
          })),
        ),
      },
    ],
    ignore: [".viv"],
    next: [
      "viv enqueue --jsonl viv/tasks.jsonl",
      "viv work --drain",
      "viv tree",
      "viv show notes.check",
    ],
  };
};

const PROMPTS: Record<Step, string> = {
  plan: `Plan this change, and change nothing yet: {{payload.goal}}

Write the plan into the file whose path is in the variable VIV_ARTIFACT_PATH: numbered steps, "1. " first.
{{evidence}}
`,
  implement: `Make this change: {{payload.goal}}

The plan:
{{artifact parent}}
{{evidence}}
`,
  check: `Check this change: {{payload.goal}} The plan was:
{{artifact parent}}

Write into the file whose path is in the variable VIV_ARTIFACT_PATH what you looked at, and as its last
line "Verdict: good", or "Verdict: bad" and why.
{{evidence}}
`,
};

const SCRIPT = `# Does every step until an agent takes its place.
set -eu
${FIELD}
case $(field task_type) in
plan) printf '1. write NOTES.md\\n2. check it\\n' >"$VIV_ARTIFACT_PATH" ;;
implement) echo "$(field goal)" >>NOTES.md ;;
check) printf 'The plan has %s steps.\\nVerdict: good\\n' \\
  "$(grep -c '^[0-9]' "$VIV_RUN/artifacts/$(field name).plan.md")" >"$VIV_ARTIFACT_PATH" ;;
esac
`;
