import { chmodSync } from "node:fs";
import { expect, test } from "vitest";
import { newFolder } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed } from "../support/random.ts";

/**
 * Every kind of file and folder below .viv/, damaged in every way that a power cut, a person or a
 * foreign program can: all tasks are done, each as often as it has to run and counted as such, what
 * is written has a bound, and doctor is content. VIV_DAMAGE=1 plays all cases, otherwise a third.
 */
const SHARE = Number(process.env.VIV_DAMAGE ?? 0.33);

test.each(["before", "running"])(
  "damaged (%s): rebuilt by whoever needs it",
  {
    timeout: 300_000,
  },
  async (when) => {
    const folder = newFolder();
    chmodSync(folder, 0o777);
    const seed = chooseSeed(`damage ${when}`);
    const player = new Script("damage.mjs", [folder, when, SHARE, seed]);
    const { ended } = player;
    // One that hangs is named: the last that began.
    let seen = 0;
    while (!player.isOver) {
      const before = player.said.length;
      const news = player.says("the next case", (line) => player.said.indexOf(line) >= seen, 60);
      await news.catch((error) => {
        if (player.isOver) return;
        throw new Error(`stuck at ${JSON.stringify(player.said.at(-1))}`, { cause: error });
      });
      seen = Math.max(seen + 1, before);
      if (player.said.at(-1)?.over) break;
    }
    expect(await ended, player.stderr).toMatchObject({ code: 0 });
    const played = player.said.filter((line) => "case" in line);
    expect(played.filter(({ problems }) => (problems as string[]).length > 0)).toEqual([]);
    expect(played.length).toBeGreaterThan(300 * SHARE * 0.5);
  },
);
