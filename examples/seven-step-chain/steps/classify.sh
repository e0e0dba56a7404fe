#!/bin/sh
# What kind of change it was, for the books.
set -eu
. "$(dirname "$0")/hand-on.sh"

class=chore
git -C app diff --quiet main "viv/$chain.verify" -- greet.sh || class=feature
cat >"$VIV_ARTIFACT_PATH" <<END
# Classification

Class: $class
$(git -C app diff --shortstat main "viv/$chain.verify")
END

hand_on incentive "It is a $class"
