#!/bin/sh
# The handler of a storm. What it does is said by the task's type. It writes to a journal outside the
# run when it begins and when it ends, so that the referee need not believe what the run says:
#   b ID TOKEN ATTEMPT PID UPTIME PREVIOUS KIND WORKER     begins; PREVIOUS: a run of it that still lives
#   e ID TOKEN PID UPTIME EXIT                             ends
# The shell's own commands only: a storm starts tens of thousands of these.
claim=${VIV_CLAIM%@*}
token=${claim##*.}
id=$VIV_TASK_ID
previous=-
if read -r pid started before 2>/dev/null <"$STORM/running/$id"; then
  if read -r stat 2>/dev/null <"/proc/$pid/stat"; then
    set -- ${stat##*) }
    case $1 in
      Z | X) ;;
      *) [ "${20}" = "$started" ] && previous=$before ;;
    esac
  fi
fi
read -r stat <"/proc/$$/stat"
set -- ${stat##*) }
echo "$$ ${20} $token" >"$STORM/running/$id"
read -r up _ </proc/uptime
echo "b $id $token $VIV_ATTEMPT $$ $up $previous work $VIV_WORKER_ID" >>"$STORM/journal"

code=0
case $VIV_TASK_TYPE in
  slow) sleep "0.${token#"${token%??}"}" ;;
  long) sleep 3 ;;
  fails) code=3 ;;
  fails-once) [ "$VIV_ATTEMPT" -gt 1 ] || code=4 ;;
  limited) [ "$VIV_ATTEMPT" -gt 1 ] || code=75 ;;
  background) sleep 900 & ;;
  talks) echo "$id says something to its log" ;;
esac
read -r up _ </proc/uptime
echo "e $id $token $$ $up $code" >>"$STORM/journal"
exit $code
