#!/bin/sh
# The work, in a git worktree of its own (the current folder). It is what the stand-in runs in place
# of a model, and knows the answer.
set -eu
. "$(dirname "$0")/hand-on.sh"

cat >greet.sh <<'END'
#!/bin/sh
# greet.sh [NAME]
echo "Hello, ${1:-world}!"
END

{
  echo "# Implementation"
  echo
  sed -n 's/^For: /For: /p' "$(artifact_of plan)"
  echo
  git diff | sed 's/^/    /'
} >"$VIV_ARTIFACT_PATH"

hand_on review "greet.sh greets by name; viv commits it on branch $(branch_of implement) when the test passes"
