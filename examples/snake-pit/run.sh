#!/bin/sh
# The whole example, in a folder ($1, or a temporary one) that gets a copy of it. With a folder where it
# has been before it goes on.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v viv >/dev/null || PATH="$here/../bin:$PATH" # in a clone
folder=${1:-$(mktemp -d)/snakes}
if ! [ -e "$folder/by-hand.sh" ]; then
  mkdir -p "$(dirname "$folder")" && mkdir "$folder"
  cp -R "$here/repertoire" "$here"/*.toml "$here"/*.mjs "$here/by-hand.sh" "$folder"
fi
cd "$folder"
unset VIV_RUN # viv.toml says which

[ -d pit/food ] || viv pit init ./pit
rm -f pit/scraps/all-eaten pit/scraps/needs-a-person # the keeper says it anew
echo "look around meanwhile: cd '$folder'; ls pit/*; viv pit status"

up=
down() { # also after Ctrl-C: nothing is left running
  trap '' INT TERM HUP
  [ -n "$up" ] || return 0
  while kill -TERM "$up" 2>/dev/null; do sleep 0.2; done # the second means: at once
  wait "$up" || true
  viv pit sweep >/dev/null # ends what a dead snake was chewing on
}
trap down EXIT
trap 'exit 130' INT TERM HUP

viv up -c agents.toml >>up.log &
up=$!
until [ -e pit/scraps/all-eaten ]; do
  kill -0 "$up" 2>/dev/null || { echo "viv up has ended: $folder/up.log" >&2; exit 1; }
  [ ! -e pit/scraps/needs-a-person ] || { cat pit/scraps/needs-a-person >&2; exit 1; }
  sleep 0.2
done
viv status --config agents.toml
kill -TERM "$up"
wait "$up"
up=

viv pit sweep
echo
cat pit/waste/SUMMARY.md
(cd pit && node ../check.mjs)
viv doctor
echo "all of it is in $folder"
