// Queues full of tasks, ours and the others', with the same content.

import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
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

/** As long as a task of ours. */
export const TEXT = `${"x".repeat(299)}\n`;

/** Empty files: a rename does not care, and they cost less to make and to remove. */
export function fillBare(bench, size) {
  const root = bench.workspace.fresh("bare");
  makeBare(root, size);
  return root;
}

export function makeBare(root, size) {
  mkdirSync(root);
  for (const name of BARE_FOLDERS) mkdirSync(`${root}/${name}`);
  for (let i = 1; i <= size; i++) writeFileSync(`${root}/pending/${idOf(i)}.json`, "");
}

const BARE_FOLDERS = ["tmp", "waiting", "pending", "claimed", "done"];

/** Puts the files of a bare queue, wherever they lie, where `shape` has them at the start. */
export function rearrangeBare(root, shape) {
  for (const from of ["waiting", "pending", "done"]) {
    for (const name of readdirSync(`${root}/${from}`)) {
      const to = shape === "dependents" && !leads(name) ? "waiting" : "pending";
      if (from !== to) renameSync(`${root}/${from}/${name}`, `${root}/${to}/${name}`);
    }
  }
}

/** In the shape "dependents": is this the one that another waits for? */
export function leads(name) {
  return Number(name.slice(2, 9)) % 2 === 1;
}

/** The name of the task that waits for this one. */
export function followerOf(name) {
  return `${idOf(Number(name.slice(2, 9)) + 1)}.json`;
}

/** A task as ours has it on disk. */
function taskOf(number, at) {
  return {
    task_id: idOf(number),
    task_type: "common",
    payload: { goal: `number ${number}` },
    depends_on: [],
    priority: "normal",
    created_at: at,
  };
}

export function fillSqlite(bench, size) {
  const file = bench.workspace.fresh("sqlite");
  makeSqlite(file, size);
  return file;
}

export function makeSqlite(file, size) {
  const db = new (loadSqlite())(file);
  db.pragma("journal_mode = WAL");
  db.exec(
    `CREATE TABLE tasks (id TEXT PRIMARY KEY, state TEXT, worker TEXT, task TEXT) WITHOUT ROWID;
     CREATE INDEX pending ON tasks (id) WHERE state = 'pending';`,
  );
  const insert = db.prepare("INSERT INTO tasks VALUES (?, 'pending', NULL, ?)");
  const at = new Date().toISOString();
  db.transaction(() => {
    for (let i = 1; i <= size; i++) insert.run(idOf(i), JSON.stringify(taskOf(i, at)));
  })();
  db.close();
}
