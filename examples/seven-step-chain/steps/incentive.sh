#!/bin/sh
# A point for every step that was proven at the first attempt. It is the last step.
set -eu
. "$(dirname "$0")/hand-on.sh"

points=0
{
  echo "# Incentive"
  echo
  for step in intent plan implement review verify classify; do
    attempt=$(viv show "$chain.$step" --json | node -p '
      const { proof } = JSON.parse(require("fs").readFileSync(0, "utf8"));
      proof?.exit === 0 ? proof.attempt : "none"')
    echo "- $step: proven in attempt $attempt"
    [ "$attempt" != 1 ] || points=$((points + 1))
  done
  echo
  echo "Points: $points"
} >"$VIV_ARTIFACT_PATH"

viv status --summary "Seven steps done, $points points" --next-step "" --next-task-id "" >/dev/null
