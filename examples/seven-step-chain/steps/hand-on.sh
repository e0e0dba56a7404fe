# What all steps share. A chain's tasks are called NAME.STEP, so several fit into one run.

chain=${VIV_TASK_ID%.*}

# artifact_of STEP: what an earlier step of this chain wrote
artifact_of() {
  echo "$(dirname "$VIV_ARTIFACT_PATH")/$chain.$1.md"
}

# branch_of STEP: the branch of an earlier step of this chain
branch_of() {
  echo "viv/$chain.$1@$(basename "$VIV_RUN")"
}

# hand_on STEP SUMMARY: a checkpoint, from which anybody could go on, and the next step.
hand_on() {
  viv status --summary "$2" --next-step "$1" --next-task-id "$chain.$1" >/dev/null
  # It waits until this task is proven. A second attempt finds it there already.
  viv enqueue --type "$1" --id "$chain.$1" --depends-on "$VIV_TASK_ID" --if-absent
}
