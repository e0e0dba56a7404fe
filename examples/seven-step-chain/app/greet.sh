#!/bin/sh
# greet.sh
echo "Hello!"
