#!/bin/sh
# The whole example, in a new folder ($1, or a temporary one) that gets a copy of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v viv >/dev/null || PATH="$here/../bin:$PATH" # in a clone
folder=${1:-$(mktemp -d)/triage}
mkdir -p "$(dirname "$folder")" && mkdir "$folder"
for part in viv.toml request.sh hand-over.sh requests.jsonl handbook.md charges.csv \
  prompts checks stand-in; do
  cp -R "$here/$part" "$folder"
done
cd "$folder"
unset VIV_RUN # viv.toml says which

viv enqueue --jsonl requests.jsonl
viv work --worker desk --concurrency 4 --drain --exit-zero # told below
viv tree

# Done, each with a proof that exited 0.
for id in $(viv ls --json | node -p '
  JSON.parse(require("fs").readFileSync(0, "utf8")).tasks.map(({ id }) => id).join(" ")'); do
  viv show "$id" --json | node -e '
    const { id, state, proof } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    if (state === "done" && proof?.exit === 0) process.exit(0);
    console.error(`${id} is ${state}, and its proof is ${JSON.stringify(proof)}`);
    process.exit(1);'
done
echo "twelve requests, four of them handed over, all proven"
echo
viv costs --group-by model
echo
viv costs --group-by type
echo "all of it is in $folder"
