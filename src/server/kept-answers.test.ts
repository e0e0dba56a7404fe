import { describe, expect, it } from "vitest";
import { KeptAnswers } from "./kept-answers.ts";

/** Answers that cost so many milliseconds of a clock that stands still otherwise. */
function answers() {
  const clock = { now: 0 };
  let made = 0;
  const kept = new KeptAnswers(() => clock.now);
  const ask = (cost: number, key = "report") =>
    kept.of(key, async () => {
      clock.now += cost;
      return `answer ${++made}`;
    });
  return { kept, clock, ask };
}

describe("answers that read the whole run", () => {
  it("are given again until they have paid for themselves, with the time when to ask again", async () => {
    const { ask, clock } = answers();
    expect(await ask(400)).toEqual({ text: "answer 1", againIn: null });
    clock.now += 1_000;
    expect(await ask(400)).toEqual({ text: "answer 1", againIn: 7_000 });
    expect(await ask(400, "report?since=1h")).toEqual({ text: "answer 2", againIn: null });
    clock.now += 7_000;
    expect(await ask(400)).toEqual({ text: "answer 3", againIn: null });
  });

  it("are made anew each time where that is cheap", async () => {
    const { ask } = answers();
    await ask(10);
    expect(await ask(10)).toEqual({ text: "answer 2", againIn: null });
  });

  it("are shared by requests at the same time, and made anew after a failure", async () => {
    const kept = new KeptAnswers(() => 0);
    let fail = (_: Error) => {};
    const torn = new Promise<string>((_, reject) => (fail = reject));
    const both = [
      kept.of("a", () => torn),
      kept.of("a", () => Promise.reject(new Error("not asked"))),
    ];
    const failed = Promise.allSettled(both);
    fail(new Error("torn"));
    expect((await failed).map((one) => one.status)).toEqual(["rejected", "rejected"]);
    await expect(both[1]).rejects.toThrow("torn");
    expect(await kept.of("a", async () => "now")).toEqual({ text: "now", againIn: null });
  });

  it("are made one after the other, also behind one that fails", async () => {
    const kept = new KeptAnswers(() => 0);
    const order: string[] = [];
    const make =
      (name: string, isBad = false) =>
      async () => {
        order.push(`${name} begins`);
        await new Promise(setImmediate);
        order.push(`${name} ends`);
        if (isBad) throw new Error(name);
        return name;
      };
    const all = ["a", "b", "c"].map((name) => kept.of(name, make(name, name === "b")));
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const inOrder = ["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]);
    expect(order).toEqual(inOrder);
  });

  it("are not given after a change, also when it came while one was made", async () => {
    const { ask, kept } = answers();
    await ask(400);
    kept.forget();
    expect(await ask(400)).toEqual({ text: "answer 2", againIn: null });
    kept.forget();
    let end = (_: string) => {};
    const old = new Promise<string>((resolve) => (end = resolve));
    const before = kept.of("b", () => old);
    kept.forget();
    end("of before");
    await before;
    expect(await kept.of("b", async () => "of now")).toEqual({ text: "of now", againIn: null });
  });
});
