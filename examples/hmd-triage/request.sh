#!/bin/sh
# Prints the request of this task.
viv show "$VIV_TASK_ID" --json |
  node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).task.payload.text'
