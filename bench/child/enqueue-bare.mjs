// Publishes files in groups of a hundred: written, synced side by side, renamed into pending/, and
// one sync of that folder for all.

import {
  closeSync,
  constants,
  fdatasync,
  fsyncSync,
  openSync,
  renameSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { now, serve, setting } from "../lib/child.mjs";
import { idOf, TEXT } from "../lib/fill.mjs";

const GROUP = 100;
const { run } = setting();
const sync = promisify(fdatasync);
let next = 1;

serve(async ({ limit }) => {
  const begin = now();
  for (let left = limit; left > 0; left -= GROUP) await publish(Math.min(GROUP, left));
  return { count: limit, begin, last: now() };
});

async function publish(size) {
  const names = Array.from({ length: size }, () => `${idOf(next++)}.json`);
  const files = names.map((name) => openSync(`${run}/tmp/${name}`, "wx", 0o600));
  for (const file of files) writeSync(file, TEXT);
  await Promise.all(files.map((file) => sync(file)));
  for (const file of files) closeSync(file);
  for (const name of names) renameSync(`${run}/tmp/${name}`, `${run}/pending/${name}`);
  const folder = openSync(`${run}/pending`, constants.O_RDONLY | constants.O_DIRECTORY);
  fsyncSync(folder);
  closeSync(folder);
}
