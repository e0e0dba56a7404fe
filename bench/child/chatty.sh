#!/bin/sh
# Prints four megabytes, and stays a while.
head -c 4000000 /dev/zero | tr '\0' 'x'
sleep 1
