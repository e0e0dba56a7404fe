// The same queue as a table: one UPDATE ... RETURNING to claim, one UPDATE to finish, each its own
// transaction, as a queue has it. Who claims a task gets it parsed, as from ours. It keeps no
// history.

import { now, serve, setting } from "../lib/child.mjs";
import { loadSqlite } from "../lib/peers.mjs";

const { file, worker, synchronous } = setting();
const Database = loadSqlite();

const queue = open(file);
serve(
  ({ limit }) => drain(queue, limit),
  () => queue.db.close(),
);

function open(path) {
  const db = new Database(path, { timeout: 60_000 });
  db.pragma("journal_mode = WAL");
  db.pragma(`synchronous = ${synchronous}`);
  const claim = db.prepare(
    `UPDATE tasks SET state = 'claimed', worker = ?
     WHERE id = (SELECT id FROM tasks WHERE state = 'pending' ORDER BY id LIMIT 1)
     RETURNING id, task`,
  );
  const complete = db.prepare(
    "UPDATE tasks SET state = 'done' WHERE id = ? AND worker = ? AND state = 'claimed'",
  );
  return { db, claim, complete };
}

function drain({ claim, complete }, limit) {
  let count = 0;
  const begin = now();
  let last = begin;
  while (count < limit) {
    const task = claim.get(worker);
    if (task === undefined) break;
    complete.run(JSON.parse(task.task).task_id, worker);
    last = now();
    count++;
  }
  return { count, begin, last, end: now() };
}
