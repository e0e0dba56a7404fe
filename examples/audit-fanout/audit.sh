#!/bin/sh
# Reads the file that its task names and reports what a reviewer should look at. Where a model would be.
set -eu
file=$(viv show "$VIV_TASK_ID" --json |
  node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).task.payload.file')
[ -f "$file" ] || { echo "there is no $file" && exit 1; }

# look_for PATTERN WHAT: a finding for every line that has it
look_for() {
  grep -nE "$1" "$file" | while IFS=: read -r line _; do
    echo "- $file:$line: $2"
  done
}

findings=$(
  look_for '^listen = 0\.0\.0\.0' "listens to everybody"
  look_for '^tls = off' "is not encrypted"
  look_for '^password = [^$]' "has a password in it"
  look_for '^timeout = 0$' "waits for ever"
  look_for '^debug = on' "says too much"
  look_for 'TODO' "is not finished"
)

cat >"$VIV_ARTIFACT_PATH" <<END
# Audit of $file

${findings:-Nothing to report.}

Findings: $(printf %s "$findings" | grep -c '^- ' || true)
END
