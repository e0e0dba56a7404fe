/** The README.md of a pit, for agents and people with nothing but ls, cat and mv. */
export function readme(): string {
  return `# A pit

This folder is a queue. Work is food, workers are snakes, and the snake that moves a file has it: a
move within one filesystem succeeds for only one of them.

    food/      work that waits            food-0007-reverse-string.md
    claimed/   work in progress           snake-2.food-0007-reverse-string.md
    done/      finished work              food-0007-reverse-string.result.md
    scraps/    notes, leftovers, and files that the work is about
    waste/     logs                       snake-2-20261115T134931.123Z.log

## What food looks like

    # food-0007-reverse-string
    - **task:** Write reverse(s) in scraps/reverse.py, with a test.
    - **done-when:** \`python3 -m pytest -q scraps\`
    - **tossed-by:** keeper

Keep food small: one thing that a snake finishes in a sitting, with all it needs to know in the file.

**done-when** is checked after you, in this folder. If the check fails, the work does not count as
done, whatever the result says. These are run:

    \`npm test\`                                       a command in backticks, alone
    \`npm test\` passes and \`npm run lint\` is clean    several: all of them must succeed
    all tests pass (\`npm test\`)                      with words that only ask for success: passes,
                                                     is green, is clean, is ok, exits 0, succeeds
    npm test passes                                  a test runner and its verdict, without backticks
    \`scraps/report.md\` exists                        that a file is there
    a fenced block of shell lines                    each line must succeed

Everything else is read by a person before the food counts: it rests in resting/review/ until
\`viv approve F\`. That is so for any other word around a command ("no longer fails", "prints 0",
"finds nothing", "with no warnings"): write a command that exits with 0 only when it is true, like
\`! grep -rn TODO src\`. Without done-when the result counts as it is, and is shown as not proven.

## How to eat

Choose a name for yourself, without dots and slashes, and not nobody: here it is snake-2. Choose
one that is free: it is not in \`ls claimed .viv/workers .viv/heartbeats\`, nor in the agents.toml of
this pit. Two snakes with one name cannot be told apart.

1. **Look.** \`ls food\`. Take the lowest number. Leave \`keeper-…\` alone, and what says
   \`for: keeper\`, \`for: planner\` or \`size: too big\`, unless that is you. If scraps/ has a
   \`choke-…\` note with your name about it, leave it to another snake. Nothing there for you? Wait a
   minute and look again; after some empty looks, end. Do not invent work, and do not take from
   claimed/ or resting/.
2. **Devour.** \`mv -n food/F.md claimed/snake-2.F.md\`. If F.md is gone, another snake was faster: take
   another one.
3. **Digest.** \`cat claimed/snake-2.F.md\` and do what it says, with this folder as the working
   directory. If it takes long, \`touch claimed/snake-2.F.md\` now and then: a claim that nothing
   happens to for half an hour is given to another snake.
4. **Regurgitate.** Write what you did to \`done/F.result.md\`, and only when it is complete
   \`mv claimed/snake-2.F.md done/F.md\` (or remove it: \`rm claimed/snake-2.F.md\`). Too big for
   one sitting? Cut it up: write new files to food/, each with the next free number,
   \`tossed-by: snake-2\` and \`part-of: F\`, and name them in the result.
5. **Excrete.** Put your log into \`waste/snake-2-<time>.log\`.
6. **Choke.** The same failure three times in a row? Write what failed and what you tried to
   \`scraps/choke-F-snake-2.md\`, then \`mv -n claimed/snake-2.F.md food/F.md\` and take something else.
   Another snake or the keeper takes it; you do not.

To toss food without a tool: write it under another name first, then move it into food/.

## The other parts

- **Keeper.** Tosses food, and takes \`keeper-…\` and \`for: keeper\`: food that snakes choked on. Read the
  notes in scraps/ and the logs in waste/, repair the food (a clearer task, a right done-when, smaller
  pieces), and put it back: \`viv retry F\`, or move it from resting/stuck/ to food/.
- **Planner.** Takes \`for: planner\` and \`size: too big\`, and cuts it up: new food with \`part-of: F\` and
  \`after:\` where the order matters, and a result that names the pieces. It does none of them itself.
- **Cleanup.** Every few minutes: food in claimed/ that nothing has happened to for half an hour (its
  change time, \`ls -lc claimed\`; no new log of that snake in waste/) goes back to food/. Logs in waste/
  are summed up in waste/SUMMARY.md, and removed after a week, except those that a note in scraps/
  names. \`viv pit sweep\` does all of it, and proves results.

## With viv

    viv pit toss . "what to do" --done-when "a command"
    viv pit status .            claims by snake, and stuck food
    viv work --run . --handler ./snake.sh --concurrency 3
    viv why F --run .           why a food is not moving
    viv doctor --run . --fix    find faults and repair them

resting/ holds food that no snake may take now: \`later/\` until its time, \`review/\` until a person
approves it, \`stuck/\` until a person helps (\`viv retry F\`, or move it back to food/). record/ is the
memory: ledger, evidence, and in quarantine/ files that could not be used. .viv/ can be rebuilt.
`;
}
