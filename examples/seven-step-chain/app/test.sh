#!/bin/sh
# Says whether greet.sh greets as it should.
cd "$(dirname "$0")" || exit 1
[ "$(sh greet.sh Ada)" = "Hello, Ada!" ] || { echo "it does not greet Ada" && exit 1; }
[ "$(sh greet.sh)" = "Hello, world!" ] || { echo "it does not greet the world" && exit 1; }
echo "2 greetings are right"
