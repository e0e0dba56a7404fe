"""swarm-lib's protocol in small, written from its description: the company our store must keep.

It knows only what a worker of swarm-lib knows: pending/, claimed/<worker>/, done/, failed/ and
status.json with its lock. Each verb is a command (see the end); `worker` is a process that drains
a run and writes each task it took to a shared log.
"""

import argparse
import fcntl
import json
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path


def now():
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


def put(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    with os.fdopen(handle, "w") as file:
        json.dump(value, file, indent=2, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def load(path):
    return json.loads(path.read_text())


@contextmanager
def locked_status(run):
    """The status under its lock; what the caller made of it is written at the end."""
    with open(run / ".status.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status = load(run / "status.json")
        yield status
        status["checkpoint"]["timestamp"] = now()
        put(run / "status.json", status)


def init(run, run_id):
    checkpoint = dict(summary="", next_step="", next_task_id=None, risk="", completed_tasks=[])
    checkpoint |= dict(current_worker=None, timestamp=now(), resume_command=None)
    put(run / "status.json", dict(schema_version="0.1", run_id=run_id, checkpoint=checkpoint, metadata={}))


def completed(run):
    path = run / "status.json"
    return set(load(path)["checkpoint"]["completed_tasks"]) if path.exists() else set()


def append_completed(run, task_id):
    with locked_status(run) as status:
        done = status["checkpoint"]["completed_tasks"]
        if task_id not in done:
            done.append(task_id)


def enqueue(run, task_id, depends_on=(), payload=None, task_type="work"):
    task = dict(task_id=task_id, task_type=task_type, run_id=run.name, created_at=now())
    task |= dict(created_by=None, depends_on=list(depends_on), payload=payload or {}, tier_hint=None, deadline=None)
    for state in ("pending", "claimed", "done", "failed", "artifacts"):
        (run / state).mkdir(parents=True, exist_ok=True)
    put(run / "pending" / f"{task_id}.json", task)


def claim(run, worker):
    """The first task, in the order of names, that nothing holds back and nobody else took."""
    folder = run / "claimed" / worker
    folder.mkdir(parents=True, exist_ok=True)
    done = completed(run)
    for path in sorted((run / "pending").glob("*.json")):
        try:
            task = load(path)
            if set(task["depends_on"]) <= done:
                os.replace(path, folder / path.name)
                return task
        except (OSError, ValueError):
            continue  # somebody else was first, or it is not JSON
    return None


def complete(run, worker, task_id, state="done"):
    os.replace(run / "claimed" / worker / f"{task_id}.json", run / state / f"{task_id}.json")
    if state == "done" and (run / "status.json").exists():
        append_completed(run, task_id)


def heartbeat(run, worker):
    (run / "claimed" / worker).mkdir(parents=True, exist_ok=True)
    (run / "claimed" / worker / ".heartbeat").write_text("")


def reap(run, stale_after):
    """The ids that went back to pending/: claims of workers with an old heartbeat, or none."""
    reaped = []
    for folder in sorted(path for path in (run / "claimed").iterdir() if path.is_dir()):
        beat = folder / ".heartbeat"
        if beat.exists() and time.time() - beat.stat().st_mtime < stale_after:
            continue
        for path in folder.glob("*.json"):
            target = run / "pending" / path.name
            if not target.exists():
                os.replace(path, target)
                reaped.append(path.stem)
    return reaped


def work(run, worker, log, until, ready, go):
    """Drains the run until `until` tasks are done. Waits for the file `go` before the first."""
    heartbeat(run, worker)
    Path(ready).touch()
    while not Path(go).exists():
        time.sleep(0.005)
    while len(list((run / "done").glob("*.json"))) < until:
        task = claim(run, worker)
        if task is None:
            time.sleep(0.01)
            continue
        with open(log, "a") as file:
            file.write(f"{worker} {task['task_id']}\n")
        heartbeat(run, worker)
        complete(run, worker, task["task_id"])


def note_metadata(run, key):
    with locked_status(run) as status:
        status["metadata"][key] = True


VERBS = dict(
    init=init, enqueue=enqueue, claim=claim, complete=complete, heartbeat=heartbeat, reap=reap,
    append_completed=append_completed, note_metadata=note_metadata, work=work,
)

if __name__ == "__main__":
    # swarm_ref.py RUN_DIR VERB '[arguments]' ['[arguments]' ...]: one call for each list.
    parser = argparse.ArgumentParser()
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("calls", nargs="+", type=json.loads)
    given = parser.parse_args()
    for arguments in given.calls:
        json.dump(VERBS[given.verb](given.run_dir.resolve(), *arguments), sys.stdout)
        print()
