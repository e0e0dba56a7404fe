import { existsSync } from "node:fs";
import { claimsOf, findClaim } from "../../queue/fs/claims/claimed.ts";
import { takeBack } from "../../queue/fs/claims/reap.ts";
import {
  namesIn,
  readDerived,
  readRegular,
  replaceFile,
  translate,
  tryLock,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, temporaryPath } from "../../queue/fs/fs-run.ts";
import { claimOf, type Extension } from "../../queue/fs/layout.ts";
import { readTaskAt } from "../../queue/fs/read.ts";
import type { ReapReport } from "../../queue/store.ts";
import { WORK_SITE, type WorkSite } from "../../work/host.ts";
import { unprovenNumberOf } from "../food-names.ts";
import { PIT, type PitStore, type Progress } from "../pit-store.ts";
import {
  countUnknown,
  eatenByHand,
  handResults,
  markUnproven,
  takeForProof,
} from "./hand-results.ts";

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
    handResults: () => doing("looking at results", () => handResults(run)),
    countUnknown: () => doing("counting results", () => countUnknown(run)),
    doneWithoutProof: () => doing("counting proofs", () => doneWithoutProof(run)),
    takeForProof: (id, worker) =>
      doing(`taking ${id} for proof`, () => takeForProof(run, id, worker)),
    markUnproven: (id) => doing(`marking ${id}`, () => markUnproven(run, id)),
    reclaim: (id, token, note) => doing(`reclaiming ${id}`, () => reclaim(run, id, token, note)),
    readProgress: async () => readProgress(run),
    writeProgress: (seen) => doing("recording progress", () => writeProgress(run, seen)),
    oddities: () =>
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

/** Takes one claim back from a worker that is alive. Where the food went, or null: it stayed. */
async function reclaim(
  run: FsRun,
  id: string,
  token: string,
  note: string,
): Promise<string | null> {
  const worker = findClaim(run.paths, id)?.worker;
  const claim = worker && claimsOf(run, worker).find((one) => one.id === id && one.token === token);
  if (!claim) return null;
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  await takeBack(run, worker, [claim], "stale", -1, report, { note });
  return report.reaped[0]?.to ?? null;
}

const progressPath = (run: FsRun) => `${run.paths.viv}/progress.json`;

function readProgress(run: FsRun): Record<string, Progress> {
  try {
    const text = readDerived(progressPath(run), 16 * 1024 * 1024)?.text ?? "{}";
    const seen = Object.entries((JSON.parse(text) ?? {}) as Record<string, Progress>);
    return Object.fromEntries(seen.filter(([, one]) => typeof one?.since === "number"));
  } catch {
    return {}; // then the wait begins anew
  }
}

function writeProgress(run: FsRun, seen: Readonly<Record<string, Progress>>): void {
  const path = progressPath(run);
  if (Object.keys(seen).length === 0 && !existsSync(path)) return;
  replaceFile(path, temporaryPath(run, "progress"), `${JSON.stringify(seen)}\n`, false);
}

function doneWithoutProof(run: FsRun): number {
  const proofs = new Set(namesIn(run.paths.artifacts));
  const ids = namesIn(run.paths.state.done).map((name) => run.paths.layout.idOf("done", name));
  const without = ids.filter((id) => id !== null && !proofs.has(`${id}.proof.json`));
  return without.length + eatenByHand(run).length;
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
