#!/bin/sh
# A source as they are at night: busy, then broken, then there.
case $VIV_ATTEMPT in
  1) echo "too many requests, try later" >&2 && exit 75 ;;
  2) echo "internal error" >&2 && exit 1 ;;
  *) echo "cloudy, 7 degrees" ;;
esac
