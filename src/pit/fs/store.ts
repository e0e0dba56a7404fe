import { namesIn, readRegular, translate, tryLock } from "../../queue/fs/files/atomic.ts";
import type { FsRun } from "../../queue/fs/fs-run.ts";
import { claimOf, type Extension } from "../../queue/fs/layout.ts";
import { readTaskAt } from "../../queue/fs/read.ts";
import { WORK_SITE, type WorkSite } from "../../work/site.ts";
import { unprovenNumberOf } from "../food-names.ts";
import { PIT, type PitStore } from "../store.ts";
import { handResults, markUnproven, takeForProof } from "./by-hand.ts";
import { readProgress, reclaim, writeProgress } from "./reclaim.ts";

export function pitExtensions(run: FsRun): Extension[] {
  return [
    { key: PIT, value: pitStore(run) },
    { key: WORK_SITE, value: workSite(run) },
  ];
}

function workSite(run: FsRun): WorkSite {
  return {
    folder: run.paths.root,
    claimFile: ({ worker, task }, artifact) => {
      const path = claimOf(run.paths, worker, task.task_id);
      return { path, env: { VIV_FOOD: path, VIV_RESULT: artifact } };
    },
    doneWhen: async ({ worker, task: { task_id: id } }) =>
      readTaskAt(run, claimOf(run.paths, worker, id), id).task?.done_when,
    hasUnprovenResults: async () =>
      handResults(run).some(({ state }) => state === "gone" || state === "done"),
  };
}

function pitStore(run: FsRun): PitStore {
  return {
    handResults: async () => doing("looking at results", () => handResults(run)),
    takeForProof: async (id, worker) =>
      doing(`taking ${id} for proof`, () => takeForProof(run, id, worker)),
    markUnproven: async (id) => doing(`marking ${id}`, () => markUnproven(run, id)),
    reclaim: async (id, token, note) =>
      doing(`reclaiming ${id}`, () => reclaim(run, id, token, note)),
    readProgress: async () => readProgress(run),
    writeProgress: async (seen) => doing("keeping what was seen", () => writeProgress(run, seen)),
    oddities: async () =>
      doing("looking around", () => ({ unproven: unproven(run), quarantined: quarantined(run) })),
    alone: async (what, act) => {
      const lock = await tryLock(`${run.paths.viv}/${what}.lock`);
      if (lock === null) return null;
      try {
        return await act();
      } finally {
        lock.release();
      }
    },
  };
}

async function doing<T>(what: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw translate(error, what);
  }
}

function unproven(run: FsRun): { id: string; name: string }[] {
  return namesIn(run.paths.state.done).flatMap((name) => {
    if (unprovenNumberOf(name) === null) return [];
    return [{ id: name.slice(0, name.lastIndexOf(".unproven-")), name }];
  });
}

function quarantined(run: FsRun): { name: string; from: string; reason: string }[] {
  const folder = run.paths.quarantine;
  const names = namesIn(folder).filter((name) => !name.endsWith(".reason"));
  return names.map((name) => {
    const note = readRegular(`${folder}/${name}.reason`, 64 * 1024)?.text ?? "{}";
    try {
      const { from = "", reason = "" } = JSON.parse(note) as { from?: string; reason?: string };
      return { name, from, reason };
    } catch {
      return { name, from: "", reason: note.trim() }; // a foreign note
    }
  });
}
