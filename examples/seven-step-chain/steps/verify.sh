#!/bin/sh
# The whole: the branch merged into main, in a worktree of its own. The proof is in viv.toml.
set -eu
. "$(dirname "$0")/hand-on.sh"

git merge --quiet --no-ff -m "Merge $chain" "$(branch_of implement)"
cat >"$VIV_ARTIFACT_PATH" <<END
# Verification

Merged as $(git rev-parse --short HEAD) on $(branch_of verify).
END

hand_on classify "Merged and tested on $(branch_of verify)"
