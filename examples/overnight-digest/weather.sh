#!/bin/sh
# A source as they are at night: for each task busy at first, then broken, then there.
calls=.weather.$VIV_TASK_ID
echo called >>"$calls"
case $(grep -c . "$calls") in
  1) echo "too many requests, try later" >&2 && exit 75 ;;
  2) echo "internal error" >&2 && exit 1 ;;
  *) echo "cloudy, 7 degrees" ;;
esac
