#!/bin/sh
# A snake that has never heard of viv: it does what pit/README.md says, with ls, cat, mv, rm and date.
# It can do one thing, copying headings, and takes only what says "for: shell".
me=shell

# 1. Look. 2. Devour: whoever moves it has it.
for file in $(ls food); do
  case $(cat "food/$file" 2>/dev/null) in
  *headings*'**for:** shell'*) mv -n "food/$file" "claimed/$me.$file" ;;
  esac
done

for claim in $(ls claimed); do
  case $claim in "$me".*) ;; *) continue ;; esac
  name=${claim#"$me".} name=${name%.md}
  # 3. Digest.
  cat README.md | while IFS= read -r line; do
    case $line in '#'*) printf '%s\n' "$line" ;; esac
  done >scraps/headings.txt
  # 4. Regurgitate: the result, when it is complete; only then the claim goes.
  echo "The headings are in scraps/headings.txt." >"scraps/$name.result"
  mv "scraps/$name.result" "done/$name.result.md"
  rm "claimed/$claim"
  # 5. Excrete.
  echo "$name: copied the headings" >"waste/$me-$(date -u +%Y%m%dT%H%M%S.000Z).log"
done
