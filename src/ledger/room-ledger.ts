import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { unlessTaken } from "../base/errno.ts";
import { explained } from "../platform/files/state-files.ts";
import type { NewEntry } from "./line.ts";
import { LedgerWriter } from "./writer.ts";

/** Where a room keeps its ledger, in its own state folder. */
export function ledgerFolderIn(state: string): string {
  return join(state, "ledger");
}

/**
 * Adds a line to the ledger of a room that has a state folder of its own. The folder `ledger/` is made
 * if need be; the state folder is not.
 */
export function recordIn(state: string, at: number, entry: NewEntry): void {
  const folder = ledgerFolderIn(state);
  explained(folder, () => unlessTaken(() => mkdirSync(folder, { mode: 0o700 })));
  recordTo(folder, at, entry);
}

/**
 * Adds a line to the ledger in this folder: a run's (`store.ledgerFolder`), for rooms that work for a
 * run, or a room's own. Nothing is kept open: such rooms have few lines.
 */
export function recordTo(
  folder: string,
  at: number,
  { room, event, agent, ...more }: NewEntry,
): void {
  explained(folder, () => {
    const time = new Date(at).toISOString();
    const writer = new LedgerWriter(folder);
    try {
      writer.append(time, JSON.stringify({ at: time, room, event, agent, ...more }), false);
    } finally {
      writer.close();
    }
  });
}
