#!/bin/sh
# answer.sh MOST: what the handbook says about at most so many of its headings in the request
set -eu
grep -qx "Class: routine" "$VIV_ARTIFACT_PATH" || exit 0
request=$(./request.sh)
sed -n 's/^## //p' handbook.md | while read -r title; do
  if echo "$request" | grep -iq "$title"; then echo "$title"; fi
done | head -n "$1" | while read -r title; do
  echo
  sed -n "/^## $title\$/,/^## /{ /^## /d; /./p; }" handbook.md
  echo "Source: $title"
done | tee -a "$VIV_ARTIFACT_PATH"
