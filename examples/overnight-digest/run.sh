#!/bin/sh
# The whole example, in a new folder ($1, or a temporary one) that gets a copy of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v viv >/dev/null || PATH="$here/../bin:$PATH" # in a clone
folder=${1:-$(mktemp -d)/digest}
mkdir -p "$(dirname "$folder")" && mkdir "$folder"
for part in viv.toml digest.sh weather.sh prompts notes; do
  cp -R "$here/$part" "$folder"
done
cd "$folder"
unset VIV_RUN # viv.toml says which

viv enqueue --type digest --id digest.monday --not-before +2s
viv why digest.monday
viv work --worker night --drain --exit-zero # told below

echo "It is morning."
viv ls --state review
cat run/artifacts/digest.monday.md
viv approve digest.monday --note "good"

# Done, and its proof exited 0.
viv show digest.monday --json | node -e '
  const { id, state, proof } = JSON.parse(require("fs").readFileSync(0, "utf8"));
  if (state === "done" && proof?.exit === 0) process.exit(0);
  console.error(`${id} is ${state}, and its proof is ${JSON.stringify(proof)}`);
  process.exit(1);'
echo "proven and approved"
echo "all of it is in $folder"
