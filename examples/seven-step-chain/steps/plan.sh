#!/bin/sh
# How to get there: numbered steps, for the wish that the intent names.
set -eu
. "$(dirname "$0")/hand-on.sh"

wish=$(sed -n 's/^Wish: //p' "$(artifact_of intent)")
cat >"$VIV_ARTIFACT_PATH" <<END
# Plan

For: $wish

1. Change greet.sh, and only that.
2. Let test.sh say whether it is right.
END

hand_on implement "There is a plan in two steps"
