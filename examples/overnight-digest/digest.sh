#!/bin/sh
# The day's notes and the weather on one page. Where the source's exit is not 0, it is ours: 75
# means later, anything else is a failure. An agent could write the page.
set -eu
[ -z "$VIV_EVIDENCE" ] || { echo "the attempt before said:" && cat "$VIV_EVIDENCE"; }
weather=$(./weather.sh)

{
  echo "# Digest"
  echo
  [ -z "$VIV_NOTE" ] || printf 'You said: %s\n\n' "$VIV_NOTE"
  echo "Weather: $weather"
  for note in notes/*.txt; do
    echo
    echo "## $(head -n 1 "$note")"
    echo
    tail -n +2 "$note"
  done
} >"$VIV_ARTIFACT_PATH"
