#!/bin/sh
# What is about a certain order is hard. Looks at the words of the request, and begins the answer.
set -eu
class=routine
if ./request.sh | grep -Eq '[Oo]rder [0-9]+'; then class=hard; fi
echo "Class: $class" | tee "$VIV_ARTIFACT_PATH"
