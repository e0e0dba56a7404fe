"""A worker as swarm-lib has them: it knows pending/, claimed/<worker>/, done/, failed/ and the flock on
status.json, and nothing of viv. Works until the file STOP is there; writes the storm's journal.

swarm_worker.py RUN NAME STORM
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "mixed"))
import swarm_ref  # noqa: E402

run, name, storm = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
journal = os.open(storm / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def note(*words):
    os.write(journal, (" ".join(str(word) for word in words) + "\n").encode())


def uptime():
    return f"{time.clock_gettime(time.CLOCK_BOOTTIME):.2f}"


while not (storm / "stop").exists():
    try:
        swarm_ref.heartbeat(run, name)
        task = swarm_ref.claim(run, name)
        if task is None:
            time.sleep(0.1)
            continue
        task_id, kind = task["task_id"], task["task_type"]
        token = os.stat(run / "claimed" / name / f"{task_id}.json").st_ctime_ns // 1000
        note("b", task_id, token, 0, os.getpid(), uptime(), "-", "foreign", name)
        time.sleep(0.01)
        code = 1 if kind == "fails" else 0
        note("e", task_id, token, os.getpid(), uptime(), code)
        swarm_ref.complete(run, name, task_id, "failed" if code else "done")
    except (FileNotFoundError, ValueError):
        time.sleep(0.02)  # taken back or cancelled meanwhile, or a status.json that is not whole
