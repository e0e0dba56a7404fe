import { FIELD, script, type Template, toml, worker } from "./template.ts";

/** A snake pit: food in a folder, snakes that devour it, and viv up that keeps them alive. */
export const pit: Template = (found) => ({
  files: [
    {
      path: "viv.toml",
      text: toml(found, [
        "# A snake pit: food is Markdown in pit/food, a claim is one mv. pit/README.md explains it to agents",
        "# that know only ls, cat and mv.",
        "",
        ['run = "pit"'],
        "",
        ["[handlers.food]", "what a snake does with its food; it runs in pit/"],
        ...worker(found, { prompt: "viv/snake.md", script: "viv/snake.sh" }),
        ['timeout = "30m"'],
        ['backoff = "5s"'],
      ]),
    },
    {
      path: "agents.toml",
      text: `# Agents around the pit; viv up starts each, and restarts it when it dies.
[service]
pit = "./pit"

[agents.snake-1]      # snakes take food as viv.toml says
[agents.snake-2]

[agents.cleanup]      # proves what was eaten by hand, takes back what was left, tidies waste/
every = "1m"

# [agents.keeper]     # gets food that is stuck
# handler = "./keeper.sh"
`,
    },
    {
      path: "viv/snake.md",
      text: `You are a snake in a pit: a folder with food/, scraps/ and done/. Your food:

{{payload.task}}

Write what it asks for, in scraps/ unless it says otherwise. Then write one sentence about it into the file
whose path is in the variable VIV_RESULT.
{{evidence}}
`,
    },
    ...script(
      found,
      "viv/snake.sh",
      `# A snake until an agent takes its place: it knows food like "Write WORD to FILE".
set -eu
${FIELD}
set -- $(field task)
[ "$1 $3" = "Write to" ] || { echo "this snake cannot digest: $*" >&2; exit 1; }
echo "$2" >"$4"
echo "wrote $2 to $4" >"$VIV_RESULT"
`,
    ),
  ],
  ignore: ["pit"],
  next: [
    "viv pit init pit",
    'viv pit toss pit "Write hello to scraps/hello.txt" --done-when "grep hello scraps/hello.txt"',
    "viv up --drain",
    "viv pit status pit",
  ],
});
