// Queues full of tasks, ours and the others', with the same content.

import { mkdirSync, writeFileSync } from "node:fs";
import { loadSqlite } from "./peers.mjs";

export function idOf(number) {
  return `t.${String(number).padStart(7, "0")}`;
}

/**
 * `shape`: "plain", "dependents" (each even task waits for the one before it), or "types" (one in
 * a hundred is of type rare).
 */
export function* specs(size, shape = "plain", from = 0) {
  for (let i = from + 1; i <= from + size; i++) {
    const spec = { id: idOf(i), type: typeOf(i, shape), payload: { goal: `number ${i}` } };
    if (shape === "dependents" && i % 2 === 0) spec.depends_on = [idOf(i - 1)];
    yield spec;
  }
}

function typeOf(number, shape) {
  return shape === "types" && number % 100 === 1 ? "rare" : "common";
}

export async function fillOurs(bench, size, { shape, durability = "fast" } = {}) {
  const path = bench.workspace.fresh("ours");
  const store = await bench.openRun(path, { create: true, durability });
  await store.enqueueMany(specs(size, shape));
  await store.close();
  return path;
}

/** Files of the size that ours have. */
export const TEXT = `${"x".repeat(299)}\n`;

export function fillBare(bench, size, { shape } = {}) {
  const root = bench.workspace.fresh("bare", { make: true });
  for (const name of ["tmp", "waiting", "pending", "claimed", "done"]) mkdirSync(`${root}/${name}`);
  for (let i = 1; i <= size; i++) {
    const state = shape === "dependents" && i % 2 === 0 ? "waiting" : "pending";
    writeFileSync(`${root}/${state}/${idOf(i)}.json`, TEXT);
  }
  return root;
}

export function fillSqlite(bench, size) {
  const folder = bench.workspace.fresh("sqlite", { make: true });
  const file = `${folder}/queue.db`;
  const db = new (loadSqlite())(file);
  db.pragma("journal_mode = WAL");
  db.exec(
    `CREATE TABLE tasks (id TEXT PRIMARY KEY, state TEXT, worker TEXT, task TEXT) WITHOUT ROWID;
     CREATE INDEX pending ON tasks (id) WHERE state = 'pending';`,
  );
  const insert = db.prepare("INSERT INTO tasks VALUES (?, 'pending', NULL, ?)");
  db.transaction(() => {
    for (let i = 1; i <= size; i++) insert.run(idOf(i), TEXT);
  })();
  db.close();
  return file;
}
