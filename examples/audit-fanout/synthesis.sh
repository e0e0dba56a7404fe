#!/bin/sh
# One report out of those of all the tasks that this one depends on.
set -eu
audits=$(node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).depends_on.join("\n")')
artifacts=$(dirname "$VIV_ARTIFACT_PATH")

total=0
{
  echo "# Synthesis"
  echo
  echo "| service | findings |"
  echo "| --- | --- |"
  for audit in $audits; do
    count=$(sed -n 's/^Findings: //p' "$artifacts/$audit.md")
    total=$((total + count))
    echo "| ${audit#audit.} | $count |"
  done
  echo
  for audit in $audits; do
    grep '^- ' "$artifacts/$audit.md" || true # nothing to say about this one
  done
  echo
  echo "Findings in all: $total"
} >"$VIV_ARTIFACT_PATH"
