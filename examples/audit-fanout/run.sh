#!/bin/sh
# The whole example, in a new folder ($1, or a temporary one) that gets a copy of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v viv >/dev/null || PATH="$here/../bin:$PATH" # in a clone
folder=${1:-$(mktemp -d)/audits}
mkdir -p "$(dirname "$folder")" && mkdir "$folder"
for part in viv.toml stand-in.toml audit.sh synthesis.sh prompts services; do
  cp -R "$here/$part" "$folder"
done
cd "$folder"
unset VIV_RUN # viv.toml says which

ids=
for file in services/*.conf; do
  id=audit.$(basename "$file" .conf)
  ids=$ids,$id
  printf '{"type":"audit","id":"%s","payload":{"file":"%s"}}\n' "$id" "$file"
done >audits.jsonl
ids=${ids#,}

viv enqueue --jsonl audits.jsonl
viv enqueue --type synthesis --id synthesis --depends-on "$ids"
viv work --worker auditor --concurrency 4 --drain --exit-zero # told below
cat run/artifacts/synthesis.md

# Done, each with a proof that exited 0.
for id in $(echo "$ids,synthesis" | tr , ' '); do
  viv show "$id" --json | node -e '
    const { id, state, proof } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    if (state === "done" && proof?.exit === 0) process.exit(0);
    console.error(`${id} is ${state}, and its proof is ${JSON.stringify(proof)}`);
    process.exit(1);'
done
echo
echo "seventeen tasks, all proven"
echo "all of it is in $folder"
