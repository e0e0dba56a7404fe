// The least that can wake a process up by a file: one watch of a folder, one rename.

import { mkdirSync, renameSync, watch } from "node:fs";
import { now, serve, setting } from "../lib/child.mjs";

const { run } = setting();
mkdirSync(`${run}/claimed/w0`);
let wanted = () => {};
watch(`${run}/pending`, (_, name) => {
  try {
    renameSync(`${run}/pending/${name}`, `${run}/claimed/w0/${name}`);
  } catch (error) {
    if (error.code === "ENOENT") return; // the event of our own rename
    throw error;
  }
  wanted({ at: now(), id: name });
});

serve(() => new Promise((resolve) => (wanted = resolve)));
