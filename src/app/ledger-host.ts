import { existsSync } from "node:fs";
import { isVivError, messageOf } from "../base/errors.ts";
import { findCrew } from "../crew/requests.ts";
import type { LedgerSource } from "../ledger/follow.ts";
import { ledgerFolderIn } from "../ledger/room-ledger.ts";
import type { Context } from "../operation/operation.ts";
import type { OtherLedgers } from "../overview/ledger/ledgers.ts";
import { wardenPlace } from "../warden/operations/warden-place.ts";

/** The ledgers of the crew and the warden that their own commands find here. */
export async function otherLedgers(context: Context): Promise<OtherLedgers> {
  const sources: LedgerSource[] = [];
  const notes: string[] = [];
  const add = async (name: string, find: () => Promise<string>) => {
    try {
      const state = await find();
      if (existsSync(state)) sources.push({ name, folder: ledgerFolderIn(state), room: name });
    } catch (error) {
      if (!isVivError(error)) throw error;
      if (error.code !== "RUN_NOT_FOUND") notes.push(`without the ${name}: ${messageOf(error)}`);
    }
  };
  await add("crew", async () => (await findCrew(context, undefined)).state);
  await add("warden", async () => (await wardenPlace(context)).files.folder);
  return { sources, notes };
}
