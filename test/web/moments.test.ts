import { expect, test } from "vitest";
import { momentOf } from "../../web/src/live/moments.ts";
import { follow, type Play, STAY_MS, startOf, step } from "../../web/src/shell/moment-play.ts";

/** What the demo points at, as the page reads and shows it. */

const line = { at: "", room: "demo", event: "moment", agent: "demo", n: 3, key: "landed" };

test("a moment is read from its line of the ledger; a link leads only to a view", () => {
  const rest = { text: "shop.tax landed", link: "task/shop.tax", command: "viv diff shop.tax" };
  expect(momentOf({ ...line, ...rest })).toEqual({ n: 3, key: "landed", ...rest });
  expect(momentOf({ ...line, ...rest, link: "//host/x" })?.link).toBeNull();
  expect(momentOf({ ...line, text: 7 })).toBeNull();
  expect(momentOf({ ...line, ...rest, room: "queue" })).toBeNull();
});

test("moments that come at once are shown one after the other, each long enough", () => {
  const shown: [number, number][] = [];
  let play: Play = { index: 0, since: 0, isFollowing: true };
  let now = 0;
  const run = (count: number) => {
    for (;;) {
      const next = follow(play, count, now);
      if (next.play !== play) shown.push([next.play.index, now]);
      play = next.play;
      if (next.in === null) return;
      now += next.in;
    }
  };
  run(1);
  run(4);
  expect(shown).toEqual([1, 2, 3].map((index) => [index, index * STAY_MS]));
});

test("a page begins with what it has not shown yet, or with the end of a tour that is over", () => {
  const all = ["up", "claimed", "proven"].map((key, i) => ({ n: i + 1, key }));
  expect(startOf(all, 0)).toBe(0);
  expect(startOf(all, 2)).toBe(1);
  expect(startOf([...all, { n: 4, key: "seen" }], 0)).toBe(3);
});

test("after a step back it stays, until the newest is reached by hand", () => {
  const back = step({ index: 4, since: 0, isFollowing: true }, -1, 5, 10);
  expect(back).toMatchObject({ index: 3, isFollowing: false });
  expect(follow(back, 6, 100_000).play).toBe(back);
  const there = step(step(back, 1, 6, 0), 1, 6, 0);
  expect(there).toMatchObject({ index: 5, isFollowing: true });
});
