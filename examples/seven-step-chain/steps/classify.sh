#!/bin/sh
# What kind of change it was, for the books.
set -eu
. "$(dirname "$0")/hand-on.sh"

class=chore
git -C app diff --quiet main "$(branch_of verify)" -- greet.sh || class=feature
cat >"$VIV_ARTIFACT_PATH" <<END
# Classification

Class: $class
$(git -C app diff --shortstat main "$(branch_of verify)")
END

hand_on incentive "It is a $class"
