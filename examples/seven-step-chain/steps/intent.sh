#!/bin/sh
# What is wanted: the wish in the task's payload, in words that the next steps can use.
set -eu
. "$(dirname "$0")/hand-on.sh"

wish=$(node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).payload.wish')
cat >"$VIV_ARTIFACT_PATH" <<END
# Intent

Wish: $wish
Out of scope: everything else.
END

hand_on plan "The wish is clear: $wish"
