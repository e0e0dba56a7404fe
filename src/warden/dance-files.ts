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
import type { WarrantReader } from "./warrant-reader.ts";

/** `active/`: the dances, and what people wish of them. */
export interface DanceFiles {
  dances(): Dance[];
  /** Files in active/ that should be dances and cannot be read. */
  badDances(): string[];
  /** From the queue to a dog. False when it is no longer in the queue. */
  begin(dance: Dance): Promise<boolean>;
  save(dance: Dance): void;
  /** Makes it execute, and saves that. False, and nothing, when it was withdrawn or called back. */
  saveForExecution(dance: Dance): Promise<boolean>;
  /** The warrant waits again, behind those that wait now: the dog is for the next of them. */
  giveBack(dance: Dance, now: number): Promise<void>;
  /** Its dance is over, and everything that comes of it is written. */
  remove(dog: string): void;
  newDog(now: number): string;

  /** False when it is too late: its dog executes, or it is over. */
  askToWithdraw(id: string): Promise<boolean>;
  askToRelease(dog: string): void;
  /** What was asked for, by id of the warrant, and by dog; and the nonces that were answered. */
  asked(): { withdrawals: string[]; releases: string[]; answers: string[] };
  forgetWithdrawal(id: string): void;
  forgetRelease(dog: string): void;
}

export function danceFiles(
  { at, locked, remove, told }: WardenFolder,
  { pathOf }: Pick<WarrantReader, "pathOf">,
): DanceFiles {
  const dances = () =>
    listed(at("active")).flatMap((name) => {
      const text =
        name.endsWith(".json") && isMeant(name) && readSmall(at("active", name), MAX_DANCE);
      const dance = text ? parseDance(text, timeOf(at("active", name))) : null;
      return dance !== null && `${dance.id}.json` === name ? [dance] : [];
    });

  return {
    dances: () => told(dances),
    badDances: () => {
      const good = new Set(dances().map(({ id }) => `${id}.json`));
      return listed(at("active")).filter(
        (name) => name.endsWith(".json") && isMeant(name) && !good.has(name),
      );
    },
    begin: (dance) =>
      locked(() => {
        const path = pathOf(dance.warrant.id);
        if (!existsSync(path)) return false;
        createFileSynced(at("active", `${dance.id}.json`), json(dance));
        rmSync(path, { force: true });
        return true;
      }),
    save: (dance) => told(() => replaceFileSynced(at("active", `${dance.id}.json`), json(dance))),
    saveForExecution: (dance) =>
      locked(() => {
        const wishes = [at("withdrawals", dance.warrant.id), at("active", `${dance.id}.release`)];
        if (wishes.some((path) => existsSync(path))) return false;
        const state = afterEvent("evaluating", "silent_at_last");
        replaceFileSynced(at("active", `${dance.id}.json`), json({ ...dance, state }));
        // Not before: until then a wish is still heard.
        dance.state = state;
        return true;
      }),
    giveBack: (dance, now) =>
      locked(() => {
        const path = pathOf(dance.warrant.id);
        const released_at = new Date(now).toISOString();
        replaceFileSynced(path, json({ ...dance.warrant, released_at }));
        for (const end of [".json", ".release"])
          rmSync(at("active", dance.id + end), { force: true });
      }),
    remove: (dog) => {
      for (const end of [".json", ".release"]) remove(at("active", dog + end));
      remove(at("questions", `${dog}.txt`));
    },
    newDog: (now) => {
      for (let time = now; ; time++) {
        const dog = `dog-${time}`;
        const isTaken = [at("active", `${dog}.json`), at("completed", `${dog}.json`)].some(
          existsSync,
        );
        if (!isTaken) return dog;
      }
    },

    askToWithdraw: (id) =>
      locked(() => {
        const dance = dances().find(({ warrant }) => warrant.id === id);
        if (dance === undefined || !isUndecided(dance)) return false;
        replaceFileUnsynced(at("withdrawals", id), "");
        return true;
      }),
    askToRelease: (dog) => told(() => replaceFileUnsynced(at("active", `${dog}.release`), "")),
    asked: () => ({
      withdrawals: listed(at("withdrawals")).filter(isName),
      releases: listed(at("active")).flatMap((name) => /^(.+)\.release$/.exec(name)?.[1] ?? []),
      answers: listed(at("answers")).filter(isName),
    }),
    forgetWithdrawal: (id) => remove(at("withdrawals", id)),
    forgetRelease: (dog) => remove(at("active", `${dog}.release`)),
  };
}
