// What the filesystem allows: the same moves with renameSync and nothing else. Each process has its
// own share of the names, so nobody ever loses a race.
//   safe       with the syncs that we make for a task: one of the ledger, one of done/
//   every      takes only each n-th name (as a worker that wants one type in n)
//   dependents half of the files lie in waiting/, each until the one before it is done

import {
  closeSync,
  constants,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  writeSync,
} from "node:fs";
import { now, serve, setting } from "../lib/child.mjs";
import { followerOf, leads, makeBare, rearrangeBare } from "../lib/fill.mjs";

const { runs, worker, share = 0, shares = 1, safe, every = 1, dependents, warmUp = 0 } = setting();
const line = Buffer.from(`${"x".repeat(291)}\n`);

if (warmUp > 0) {
  const scratch = `${runs[0]}-${worker}-${process.pid}`;
  makeBare(scratch, warmUp);
  rearrangeBare(scratch, dependents ? "dependents" : "plain");
  drain(open(scratch, { all: true }), warmUp);
}
const queues = runs.map((root) => open(root));
serve(({ limit, run = 0 }) => drain(queues[run], limit));

function open(root, { all = false } = {}) {
  const claimed = `${root}/claimed/${worker}`;
  mkdirSync(claimed, { recursive: true });
  const names = readdirSync(`${root}/pending`).sort();
  const isMine = (i) => i % every === 0 && (i / every) % shares === share;
  const mine = names.filter((_, i) => all || isMine(i));
  const ledger = safe ? openSync(`${root}/ledger.jsonl`, "a", 0o600) : -1;
  return { root, claimed, mine, next: 0, ledger };
}

function drain(queue, limit) {
  const { root, claimed, mine } = queue;
  let count = 0;
  const begin = now();
  let last = begin;
  while (count < limit && queue.next < mine.length) {
    const name = mine[queue.next++];
    renameSync(`${root}/pending/${name}`, `${claimed}/${name}`);
    if (safe) {
      writeSync(queue.ledger, line);
      fdatasyncSync(queue.ledger);
    }
    renameSync(`${claimed}/${name}`, `${root}/done/${name}`);
    if (safe) {
      syncFolder(`${root}/done`);
      syncFolder(claimed);
    }
    if (dependents && leads(name)) {
      const follower = followerOf(name);
      renameSync(`${root}/waiting/${follower}`, `${root}/pending/${follower}`);
      mine.push(follower);
    }
    last = now();
    count++;
  }
  return { count, begin, last, end: now() };
}

function syncFolder(path) {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  fsyncSync(fd);
  closeSync(fd);
}
