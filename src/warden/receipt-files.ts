import { isName } from "../base/names.ts";
import {
  isTemporary,
  replaceFileSynced,
  replaceFileUnsynced,
} from "../platform/files/atomic-write.ts";
import { listed, readSmall } from "../platform/files/state-files.ts";
import type { Receipt } from "./dance.ts";
import { FOLDERS, isMeant, isSince, json, MAX_DANCE, parsed, type WardenFolder } from "./folder.ts";

/** `completed/`, `epitaphs/` and the markers: what is left of a dance. */
export interface ReceiptFiles {
  writeReceipt(receipt: Receipt): void;
  receipt(dog: string): Receipt | null;
  /** The newest first; those that ended before `since` may be missing. */
  receipts(since?: number): Receipt[];
  writeEpitaph(warrant: string, text: string): void;
  epitaph(warrant: string): string | null;
  markDone(dog: string, verdict: string): void;
  /** Dogs whose requesters are still to be told: written before the dance is removed. */
  untold(): string[];
  markUntold(dog: string): void;
  forgetUntold(dog: string): void;
  /** Markers that nobody has to see any more, and what crashes have left half written. */
  removeOldMarkers(before: number): void;
}

export function receiptFiles({ at, remove, told }: WardenFolder): ReceiptFiles {
  return {
    writeReceipt: (receipt) =>
      told(() => replaceFileSynced(at("completed", `${receipt.dog}.json`), json(receipt))),
    receipt: (dog) => (isName(dog) ? receiptIn(at("completed", `${dog}.json`)) : null),
    receipts: (since = 0) =>
      listed(at("completed"))
        .filter(
          (name) =>
            name.endsWith(".json") && isMeant(name) && isSince(at("completed", name), since),
        )
        .flatMap((name) => receiptIn(at("completed", name)) ?? [])
        .sort((a, b) => (a.ended_at < b.ended_at ? 1 : -1)),
    writeEpitaph: (warrant, text) =>
      told(() => replaceFileUnsynced(at("epitaphs", `${warrant}.md`), text)),
    epitaph: (warrant) =>
      isName(warrant) ? readSmall(at("epitaphs", `${warrant}.md`), MAX_DANCE) : null,
    markDone: (dog, verdict) =>
      told(() => replaceFileUnsynced(at("active", `${dog}.done`), `${verdict}\n`)),
    untold: () => listed(at("untold")).filter(isName),
    markUntold: (dog) => told(() => replaceFileSynced(at("untold", dog), "")),
    forgetUntold: (dog) => remove(at("untold", dog)),
    removeOldMarkers: (before) => {
      for (const name of listed(at("active"))) {
        const isOld = name.endsWith(".done") && !isSince(at("active", name), before);
        if (isOld) remove(at("active", name));
      }
      for (const place of FOLDERS) {
        for (const name of listed(at(place)).filter(isTemporary)) {
          if (!isSince(at(place, name), before)) remove(at(place, name));
        }
      }
    },
  };
}

function receiptIn(path: string): Receipt | null {
  const receipt = parsed<Receipt>(readSmall(path, MAX_DANCE));
  return typeof receipt?.dog === "string" && typeof receipt.verdict === "string" ? receipt : null;
}
