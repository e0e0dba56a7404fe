#!/bin/sh
# Somebody else's eyes: is it only what the plan allows, and cleanly done?
set -eu
. "$(dirname "$0")/hand-on.sh"

change="main..$(branch_of implement)"
files=$(git -C app diff --name-only "$change")
verdict=good
[ "$files" = greet.sh ] || verdict="bad: it changes $files"
git -C app diff --check "$change" || verdict="bad: stray blanks"

cat >"$VIV_ARTIFACT_PATH" <<END
# Review of $change

Verdict: $verdict
END

hand_on verify "Reviewed: $verdict"
