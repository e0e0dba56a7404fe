#!/bin/sh
# The whole example, in a folder ($1, or a temporary one) that becomes a git repository with a copy of it.
# A minute of crew.org takes a tenth of a second. With a folder where it has been before it goes on.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
command -v viv >/dev/null || PATH="$here/../bin:$PATH" # in a clone
export PATH
folder=${1:-$(mktemp -d)/newsroom}
if ! git -C "$folder" rev-parse -q --verify HEAD >/dev/null 2>&1 || ! [ -d "$folder/.git" ]; then
  mkdir -p "$folder"
  cp -R "$here"/*.org "$here"/*.mjs "$here/archive" "$here/stand-in" "$folder"
  git -C "$folder" init -q -b main
  printf '%s\n' .crew/ fast.org crew.log >"$folder/.git/info/exclude"
  git -C "$folder" config commit.gpgsign false # agents have no key
  git -C "$folder" add .
  git -C "$folder" -c user.name=publisher -c user.email=publisher@newsroom.example \
    commit -q -m "A newsroom, and what it is to look into"
fi
cd "$folder"
unset VIV_RUN VIV_BOARD VIV_AGENT WB_CREW_STAGGER_MS WB_CREW_MAX_CONCURRENT
sed 's/^\(:INTERVAL: *[0-9]*\)m$/\100/' crew.org >fast.org # 15m: 1500 ms
echo "look around meanwhile: cd '$folder'; viv board ls; viv crew ps; git log --oneline"

up=
down() { # also after Ctrl-C: nothing is left running
  trap '' INT TERM HUP
  [ -n "$up" ] || return 0
  while kill -TERM "$up" 2>/dev/null; do sleep 0.2; done # the second means: at once
  wait "$up" || true
}
trap down EXIT
trap 'exit 130' INT TERM HUP

count() { grep -Ec "$1" "$2" || true; }
is_up() { grep -q '"kind":"up"' crew.log; }
is_over() { # the crew is up, every lead is on the board, and no story is open
  is_up && [ "$(count '^\* (PUBLISHED|KILLED) ' board.org)" = "$(count '^\* ' leads.org)" ]
}

: >crew.log # now: what is in it from before must not be read below
viv crew up fast.org --boot-grace 0s --stagger 100ms --max-concurrent 2 --port 0 --json >crew.log &
up=$!
looks=0
shown=
until is_over; do
  kill -0 "$up" 2>/dev/null || { echo "viv crew up has ended: $folder/crew.log" >&2; exit 1; }
  if grep -E '"outcome":"(failed|crashed|killed)"|"kind":"(parked|trouble)"' crew.log >&2; then exit 1; fi
  if [ -z "$shown" ] && is_up && grep -q '^\* PUBLISHED ' board.org; then
    shown=1
    printf '\n$ viv gate   (the first story is out)\n'
    viv gate
    printf '\n$ curl …/_activity\n'
    node activity.mjs
  fi
  looks=$((looks + 1))
  [ "$looks" -lt 600 ] || { echo "it gets nowhere: $folder/crew.log" >&2; exit 1; }
  sleep 0.2
done

printf '\n$ viv crew tick …   (RUN-IF is not asked; they find nothing)\n'
tick() { # joins a tick that is under way; when that one ends with its RUN-IF, it was none: once more
  for _ in 1 2 3 4 5; do
    said=$(viv crew tick "$1") && break
  done
  echo "$said"
}
for agent in desk moss wren hale; do tick "$agent"; done
printf '\n$ viv crew ps\n'
viv crew ps
viv crew stop >/dev/null
wait "$up"
up=

printf '\n$ viv board ls\n'
viv board ls
printf '\n$ viv board audit\n'
viv board audit
printf '\n$ git log --oneline\n'
git --no-pager log --oneline
echo
node check.mjs
echo "all of it is in $folder"
