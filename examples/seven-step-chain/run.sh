#!/bin/sh
# The whole example, in a new folder ($1, or a temporary one) that gets a copy of it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v viv >/dev/null || PATH="$here/../bin:$PATH" # in a clone
folder=${1:-$(mktemp -d)/chain}
mkdir -p "$(dirname "$folder")" && mkdir "$folder"
for part in viv.toml stand-in.toml prompts steps app; do
  cp -R "$here/$part" "$folder"
done
cd "$folder"
unset VIV_RUN # viv.toml says which

# A little repository to work on. Its test fails at first.
git init --quiet app
git -C app symbolic-ref HEAD refs/heads/main
git -C app config user.name "Example"
git -C app config user.email example@localhost
git -C app config commit.gpgsign false
git -C app add .
git -C app commit --quiet -m "A greeting for nobody in particular"
if sh app/test.sh; then exit 1; fi

viv enqueue --type intent --id hello.intent --payload '{"wish":"greet people by name"}'
viv work --worker chain --drain --exit-zero # told below
viv tree

# Done, each with a proof that exited 0.
for step in intent plan implement review verify classify incentive; do
  viv show "hello.$step" --json | node -e '
    const { id, state, proof } = JSON.parse(require("fs").readFileSync(0, "utf8"));
    if (state === "done" && proof?.exit === 0) process.exit(0);
    console.error(`${id} is ${state}, and its proof is ${JSON.stringify(proof)}`);
    process.exit(1);'
done
echo "seven steps, all proven"
echo "all of it is in $folder"
