import { MODEL, SHOP_FILES, scenarioText } from "./scenario.ts";

/** The files of the demo's world, by their path in its folder. */
export function worldFiles(
  { viv, node, folder, hasTmux }: { viv: string; node: string; folder: string; hasTmux: boolean },
  pace: number,
): Map<string, { text: string; isProgram?: boolean }> {
  const files = new Map<string, { text: string; isProgram?: boolean }>();
  const put = (path: string, text: string, isProgram = false) =>
    files.set(path, { text, isProgram });
  put("bin/viv", program(quote(node), quote(viv), quote(folder)), true);
  put("shell", shell(quote(folder)));
  for (const [name, text] of Object.entries(SHOP_FILES)) put(`shop/${name}`, text);
  put(
    "demo/viv.toml",
    vivToml((n) => Math.max(50, Math.round(n * 1000 * pace)), hasTmux),
  );
  put("demo/stand-in.toml", scenarioText(pace));
  put("demo/task.md", "{{payload.goal}}\n{{note?}}\n{{evidence?}}\n");
  put("demo/member.sh", MEMBER, true);
  for (const [name, , work] of MEMBERS) put(`demo/desk/${name}.md`, `You are ${name}. ${work}\n`);
  put("demo/agents.toml", AGENTS);
  put("demo/snake.sh", snake(pace), true);
  put("demo/.gitignore", "run/\npit/\n.crew/\n");
  put("agent/demo-agent.mjs", AGENT, true);
  return files;
}

/** The state is named here and not in `shell`: a terminal that outlives the demo would go on with it. */
const program = (node: string, viv: string, folder: string) => `#!/bin/sh
VIV_STATE='${folder}/state' exec '${node}' '${viv}' "$@"
`;

/** For a person's own terminal: there `viv` is ours, and this fleet the one it speaks of. */
const shell = (folder: string) => `export PATH='${folder}/bin':"$PATH"
unset VIV_RUN
cd '${folder}/demo'
`;

const quote = (path: string) => path.replaceAll("'", "'\\''");

/** A member, the state it takes stories in, and its work. */
const MEMBERS = [
  ["moss", "ASSIGNED", "Find the facts."],
  ["wren", "WRITING", "Write the story."],
  ["hale", "EDIT", "Edit it, and publish."],
] as const;

function vivToml(milliseconds: (n: number) => number, hasTmux: boolean): string {
  const seconds = (n: number) => `${milliseconds(n)}ms`;
  const patience = `${Math.max(3000, milliseconds(8))}ms`; // on a busy machine an answer takes a while
  const engine = `engine = "script"\nscenario = "stand-in.toml"\nmodel = "${MODEL}"\nprompt = "task.md"\nresume = false\nbackoff = "${seconds(1)}"`;
  const worktree = 'workspace = "worktree"\nrepository = "../shop"\nbase = "main"';
  return `# The demo fleet. Its agents are stand-ins without a model; all else is as in yours.
run = "run"

[handlers.plan]
${engine}
env = ["SHOP"]
done_when = 'grep -q "^1\\. " "$VIV_ARTIFACT_PATH"'

[handlers.build] # a worktree and a branch for each task; done when its proof passes there
${engine}
${worktree}
max_attempts = 3
done_when = "sh check.sh"

[handlers.audit]
${engine}
env = ["SHOP"]
done_when = 'grep -q "^# Audit" "$VIV_ARTIFACT_PATH"'

[workers]
count = 3

[merge]
into = "main"
auto = true
prove = "sh check.sh"

[budget]
day = { usd = 5 }

[server]
port = 0

[crew]
stagger = "${seconds(1)}"
grace = "${seconds(2)}"
max_concurrent = 1
${MEMBERS.map(
  ([name, state]) => `
[crew.${name}]
def = "desk/${name}.md"
interval = "${milliseconds(5)}"
mode = "edit"
command = "./member.sh ${state}"
run_if = 'grep -q "^\\*\\** ${state} " board.org'`,
).join("\n")}
${
  hasTmux
    ? `
[warden]
pool = 2
timeouts = ["${patience}", "${patience}"]
kill_after = "${seconds(2)}"
tmux_socket = "../tmux"
ask = ["demo-agent.mjs"]
`
    : ""
}`;
}

/** A desk: claims the next story in a state, and hands it on; its steps go to the crew's activity. */
const MEMBER = `#!/bin/sh
set -eu
step() { printf '{"tool":"%s","target":"%s"}\\n' "$1" "$2" >>"$VIV_STEPS"; }
step read board.org
next=$(viv board next --state "$1")
story=\${next%% *}
[ -n "$story" ] && [ "$story" != nothing ] || { echo "NO-WORK: nothing is in $1"; exit; }
step claim "$story"
viv board claim "$story"
step advance "$story"
viv board advance "$story" --note "by a stand-in"
`;

const AGENTS = `# The pit: any Markdown file in pit/food/ is food.
[service]
pit = "./pit"

[agents.snake-1]
handler = "./snake.sh"

[agents.snake-2]
handler = "./snake.sh"
`;

const snake = (pace: number) => `#!/bin/sh
# A snake: digests one food, and leaves a result.
cat >/dev/null
sleep ${Math.max(0.1, 3 * pace).toFixed(1)}
echo "digested" >"$VIV_ARTIFACT_PATH"
`;

/**
 * A program in a terminal, as an agent is: it shows a prompt and reads lines. \`hang\` reads none, as one
 * whose model never answers; the other answers what it is asked.
 */
const AGENT = `#!/usr/bin/env node
const [how] = process.argv.slice(2);
process.stdout.write(\`demo agent (\${how})\\nworking on the shelf\\n> \`);
if (how === "hang") setInterval(() => {}, 1 << 30);
else {
  process.stdin.setEncoding("utf8").on("data", (text) => {
    const nonce = /ALIVE ([a-z]{4}[0-9]{2})/.exec(text)?.[1];
    if (nonce) process.stdout.write(\`ALIVE \${nonce}\\n> \`);
    else process.stdout.write("> ");
  });
}
`;
