#!/bin/sh
# Stands in for an agent: the task is on stdin; n8n fetches what is written to $VIV_ARTIFACT_PATH.
set -eu
topic=$(node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).payload.topic')
printf '# %s\n\nAll that is new about %s.\n' "$topic" "$topic" >"$VIV_ARTIFACT_PATH"
