import { existsSync, rmSync } from "node:fs";
import { isName } from "../base/names.ts";
import {
  createFileSynced,
  replaceFileSynced,
  replaceFileUnsynced,
} from "../platform/files/atomic-write.ts";
import { listed, readSmall } from "../platform/files/state-files.ts";
import { afterEvent, type Dance, isUndecided, parseDance } from "./dance.ts";
import { isMeant, json, MAX_DANCE, timeOf, type WardenFolder } from "./folder.ts";
import type { WarrantReader } from "./queue-files.ts";

export type DanceFiles = ReturnType<typeof danceFiles>;

/** `active/`: the dances, and people's requests to them. */
export function danceFiles(
  { at, locked, remove, explained }: WardenFolder,
  { pathOf }: Pick<WarrantReader, "pathOf">,
) {
  const names = () =>
    listed(at("active")).filter((name) => name.endsWith(".json") && isMeant(name));
  const dances = () =>
    names().flatMap((name) => {
      const text = readSmall(at("active", name), MAX_DANCE);
      const dance = text ? parseDance(text, timeOf(at("active", name))) : null;
      return dance !== null && `${dance.id}.json` === name ? [dance] : [];
    });

  return {
    dances: () => explained(dances),
    /** Files in active/ that should be dances and cannot be read. */
    badDances: () => {
      const good = new Set(dances().map(({ id }) => `${id}.json`));
      return names().filter((name) => !good.has(name));
    },
    /** From the queue to a dog. False when it is no longer in the queue. */
    begin: (dance: Dance) =>
      locked(() => {
        const path = pathOf(dance.warrant.id);
        if (!existsSync(path)) return false;
        createFileSynced(at("active", `${dance.id}.json`), json(dance));
        rmSync(path, { force: true });
        return true;
      }),
    save: (dance: Dance) =>
      explained(() => replaceFileSynced(at("active", `${dance.id}.json`), json(dance))),
    /** Makes it execute, and saves that. False, without an effect, when it was withdrawn, released or revoked. */
    saveForExecution: (dance: Dance, isStillMeant: () => boolean) =>
      locked(() => {
        if (!isStillMeant()) return false;
        const requests = [at("withdrawals", dance.warrant.id), at("active", `${dance.id}.release`)];
        if (requests.some((path) => existsSync(path))) return false;
        const state = afterEvent("evaluating", "silent_at_last");
        replaceFileSynced(at("active", `${dance.id}.json`), json({ ...dance, state }));
        dance.state = state; // not before: until then a request counts
        return true;
      }),
    /** The warrant waits again, behind those that wait now. */
    giveBack: (dance: Dance, now: number) =>
      locked(() => {
        const path = pathOf(dance.warrant.id);
        const released_at = new Date(now).toISOString();
        replaceFileSynced(path, json({ ...dance.warrant, released_at }));
        for (const end of [".json", ".release"])
          rmSync(at("active", dance.id + end), { force: true });
      }),
    remove: (dog: string) => {
      for (const end of [".json", ".release"]) remove(at("active", dog + end));
      remove(at("questions", `${dog}.txt`));
    },
    newDog: (now: number) => {
      for (let time = now; ; time++) {
        const dog = `dog-${time}`;
        const files = [at("active", `${dog}.json`), at("completed", `${dog}.json`)];
        if (!files.some((path) => existsSync(path))) return dog;
      }
    },

    /** False when it is too late: its dog executes, or it is over. */
    askToWithdraw: (id: string) =>
      locked(() => {
        const dance = dances().find(({ warrant }) => warrant.id === id);
        if (dance === undefined || !isUndecided(dance)) return false;
        replaceFileUnsynced(at("withdrawals", id), "");
        return true;
      }),
    askToRelease: (dog: string) =>
      explained(() => replaceFileUnsynced(at("active", `${dog}.release`), "")),
    /** Withdrawals by warrant, releases by dog, and answered nonces. */
    requests: () => ({
      withdrawals: listed(at("withdrawals")).filter(isName),
      releases: listed(at("active")).flatMap((name) => /^(.+)\.release$/.exec(name)?.[1] ?? []),
      answers: listed(at("answers")).filter(isName),
    }),
    forgetWithdrawal: (id: string) => remove(at("withdrawals", id)),
    forgetRelease: (dog: string) => remove(at("active", `${dog}.release`)),
  };
}
