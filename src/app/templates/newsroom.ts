import { quoted } from "../../base/text.ts";
import { script, type Template } from "./template.ts";

/** A member: its name, the state it takes stories in, and its work. */
const MEMBERS = [
  ["moss", "ASSIGNED", "find facts and their sources, and write them to stories/SLUG.facts.md"],
  ["wren", "WRITING", "write the story from stories/SLUG.facts.md to stories/SLUG.md"],
  [
    "hale",
    "EDIT",
    "edit stories/SLUG.md; if facts are missing, bounce it instead: viv board bounce SLUG --note WHY",
  ],
] as const;

/** A crew of standing agents, each on its own clock, around a board in git. */
export const newsroom: Template = (found) => ({
  files: [
    {
      path: "crew.org",
      text: `#+TITLE: crew
# Each heading is a standing agent. A tick runs it once; RUN-IF skips the tick when it has no work.
# viv crew up crew.org starts all of them; changes of this file are read while it runs.
${MEMBERS.map(
  ([name, state]) => `* ${name}
:PROPERTIES:
:DEF:      viv/${name}.org
:INTERVAL: 15m
:MODE:     edit
:RUN-IF:   viv board next --state ${state} --exit-code
${found.agent === null ? `:COMMAND:  viv/member.sh ${state}` : `:ENGINE:   ${found.agent}`}
:END:
`,
).join("")}`,
    },
    ...MEMBERS.map(([name, state, work]) => ({
      path: `viv/${name}.org`,
      text: `You are ${name}, a member of a newsroom. The board is board.org; change it only with viv board.

1. viv board next --state ${state} names the next story. Is there none? Then begin your last text with NO-WORK.
2. viv board claim SLUG
3. Then ${work}. Commit your files.
4. viv board advance SLUG --note "what you did, in one line"
`,
    })),
    ...script(
      found,
      "viv/member.sh",
      `# A member until an agent takes its place: claims the next story in state $1 and hands it on.
set -eu
next=$(viv board next --state "$1")
story=\${next%% *}
[ -n "$story" ] && [ "$story" != nothing ] || { echo "NO-WORK: nothing is in $1"; exit; }
viv board claim "$story"
viv board advance "$story" --note "done by a script"
`,
    ),
  ],
  ignore: [".crew"],
  next: [
    // The members call it.
    ...(found.unknownViv === null
      ? []
      : [`PATH="$(mktemp -d):$PATH"; ln -s ${quoted(found.unknownViv)} "\${PATH%%:*}/viv"`]),
    ...(found.git === "none" ? ["git init -q"] : []),
    "viv board init",
    'viv board open "hello world: one story"',
    "viv crew up crew.org >/dev/null &",
    'until viv crew ps 2>/dev/null | grep -q "^up"; do sleep 0.2; done',
    ...MEMBERS.map(([name]) => `viv crew tick ${name}`),
    "viv board ls",
    "viv crew stop",
  ],
});
