import {
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { Faults } from "../../test/support/faults.ts";
import { newFolder } from "../../test/support/folders.ts";
import { holds } from "../../test/support/property.ts";
import { turnsDuring } from "../../test/support/turns.ts";
import { stepsAtOnce, stepsInSlices } from "../platform/slices.ts";
import { CLOSING_MS, noteClosed } from "./closing.ts";
import { dayFiles, daysIn } from "./day-files.ts";
import { LedgerFollower } from "./follower.ts";
import { beginClosing, daysToSeal, sealDay, sealDays } from "./seal.ts";
import { verifyLedger, verifySteps } from "./verify.ts";
import { LedgerWriter } from "./writer.ts";

let folder = "";
let rounds = 0;

beforeEach(() => {
  folder = newFolder("viv-seal-");
});

function freshFolder(): string {
  return newFolder(`round-${rounds++}-`, folder);
}

const dayOf = (n: number) => `2026-11-${String(n).padStart(2, "0")}`;
const lineOf = (n: number, day: string) =>
  JSON.stringify({ at: `${day}T12:00:00.000Z`, event: "step", n });
const NOON = Date.parse("2026-11-20T12:00:00Z");
const options = { now: () => NOON, sleep: async () => true };

function write(place: string, lines: readonly { day: string; n: number }[]): void {
  const writer = new LedgerWriter(place);
  for (const { day, n } of lines) writer.append(`${day}T12`, lineOf(n, day), false);
  writer.close();
}

/** Closes and seals all days up to this one, as a process with the lock does. */
function sealUpTo(place: string, day: string): void {
  const days = daysToSeal(place, Date.parse(`${day}T00:00:00Z`) + 2 * 86_400_000);
  beginClosing(place, days);
  for (const one of days) stepsAtOnce(sealDay(place, one, NOON));
}

function numbersIn(place: string, follower = new LedgerFollower(place)): number[] {
  return [...follower.texts()].map(({ text }) => JSON.parse(text).n as number);
}

test("other work of the process goes on while a large day is sealed, and verified", async () => {
  writeFileSync(join(folder, `${dayOf(15)}.jsonl`), `${lineOf(1, dayOf(15))}\n`.repeat(60_000));
  const turns = new Promise<number>((resolve) => {
    const sleep = async () => {
      resolve(turnsDuring(() => sealing)); // from here on: it has the lock
      return true;
    };
    const sealing = sealDays(folder, { ...options, sleep });
  });
  expect(await turns).toBeGreaterThan(4);
  expect(await turnsDuring(() => stepsInSlices(verifySteps(folder)))).toBeGreaterThan(2);
  expect(verifyLedger(folder)).toMatchObject({ problems: [], sealed: 1 });
});

test("seals all days that are over, in a chain; a late line goes to the next open day", async () => {
  write(
    folder,
    [15, 17, 20].map((n) => ({ day: dayOf(n), n })),
  );
  expect(await sealDays(folder, options)).toEqual([dayOf(15), dayOf(17)]);
  write(folder, [{ day: dayOf(16), n: 1 }]);
  write(folder, [{ day: dayOf(17), n: 2 }]);
  expect(dayFiles(folder).map(({ day, state }) => `${day} ${state}`)).toEqual(
    ["15 sealed", "17 sealed", "18 open", "20 open"].map((one) => `2026-11-${one}`),
  );
  expect(await sealDays(folder, options)).toEqual([dayOf(18)]);
  expect(await sealDays(folder, options)).toEqual([]);
  expect(numbersIn(folder)).toEqual([15, 17, 1, 2, 20]);
  expect(verifyLedger(folder)).toEqual({ problems: [], sealed: 3, open: [dayOf(20)] });
  const seals = [15, 17, 18].map((n) =>
    JSON.parse(readFileSync(join(folder, `${dayOf(n)}.seal`), "utf8")),
  );
  expect(seals.map(({ lines }) => lines)).toEqual([1, 1, 2]);
  expect(new Set(seals.map(({ previous }) => previous)).size).toBe(3);
});

test("the next seal does not hide that the last day was removed, or its seal changed", () => {
  for (const damage of ["removed", "changed"]) {
    const place = freshFolder();
    write(
      place,
      [15, 16, 17].map((n) => ({ day: dayOf(n), n })),
    );
    sealUpTo(place, dayOf(17));
    const last = join(place, dayOf(17));
    if (damage === "changed") {
      writeFileSync(`${last}.seal`, readFileSync(`${last}.seal`, "utf8").replace("-20T", "-21T"));
    } else for (const kind of ["jsonl", "seal"]) rmSync(`${last}.${kind}`);
    expect(verifyLedger(place).problems, damage).toHaveLength(1);
    write(place, [{ day: dayOf(18), n: 18 }]);
    sealUpTo(place, dayOf(18));
    expect(verifyLedger(place).problems, damage).toMatchObject([{ file: `${dayOf(18)}.seal` }]);
  }
});

test("not before the margin is over, and not twice at once", async () => {
  write(folder, [{ day: dayOf(19), n: 1 }]);
  const early = { ...options, now: () => Date.parse("2026-11-20T00:05:00Z") };
  expect(await sealDays(folder, early)).toEqual([]);
  const both = await Promise.all([sealDays(folder, options), sealDays(folder, options)]);
  expect(both.flat()).toEqual([dayOf(19)]);
  expect(verifyLedger(folder).problems).toEqual([]);
});

test("killed before any change: the next one goes on, verify never complains, no line is lost", async () => {
  for (let at = 1; ; at++) {
    const place = freshFolder();
    write(
      place,
      [1, 2, 3, 4].map((n) => ({ day: dayOf(n < 4 ? n : 20), n })),
    );
    await sealDays(place, { ...options, now: () => Date.parse(`${dayOf(2)}T12:00:00Z`) });
    const faults = new Faults("die", at);
    await sealDays(place, options).catch(() => {});
    faults.heal();
    expect(verifyLedger(place).problems, faults.log.join("\n")).toEqual([]);
    expect(numbersIn(place)).toEqual(expect.arrayContaining([1, 4]));
    write(place, [{ day: dayOf(2), n: 5 }]);
    await sealDays(place, options);
    expect(verifyLedger(place).problems, faults.log.join("\n")).toEqual([]);
    expect(numbersIn(place).sort(), faults.log.join("\n")).toEqual([1, 2, 3, 4, 5]);
    await sealDays(place, { ...options, now: () => NOON + 2 * 86_400_000 });
    const left = readdirSync(place).filter((name) => /closing|closed|^\.\d/.test(name));
    expect(left).toEqual([]);
    if (!faults.happened) break;
  }
});

const MOMENTS = ["measure", "note", "seal"] as const;

/**
 * Writers that are stopped between any two of their steps, while days are closed and sealed and a
 * reader looks: `plan` has what happens at each of these moments.
 */
test("each line counts once, wherever writers are stopped while days are closed", () => {
  const moment = fc.oneof(
    fc.constant({ is: "nothing" as const }),
    fc.record({ is: fc.constant("pass" as const), ms: fc.constantFrom(400, 2_000) }),
    fc.record({ is: fc.constant("close" as const), day: fc.integer({ min: 1, max: 3 }) }),
    fc.constantFrom(...MOMENTS.map((is) => ({ is }))),
    fc.constant({ is: "look" as const }),
  );
  const line = fc.record({
    writer: fc.nat(1),
    day: fc.integer({ min: 1, max: 3 }),
    lines: fc.integer({ min: 1, max: 3 }),
    isSoon: fc.boolean(),
    /** Moments before it. */
    after: fc.nat(4),
  });
  holds(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 12 }),
      fc.array(moment, { maxLength: 60 }),
      (lines, plan) => {
        const place = freshFolder();
        const steps = [...plan];
        let now = 0;
        let closingSince = new Map<string, number>();
        const follower = new LedgerFollower(place);
        const seen: number[] = [];
        const sizes = new Map<string, number>();
        const happen = () => {
          const step = steps.shift();
          if (step?.is === "pass") now += step.ms;
          if (step?.is === "look") seen.push(...numbersIn(place, follower));
          if (step?.is === "close") {
            const { jsonl, seal } = daysIn(place);
            const days = [...jsonl]
              .filter((day) => day <= dayOf(step.day) && !seal.has(day))
              .sort();
            beginClosing(place, days);
            for (const day of days) if (!closingSince.has(day)) closingSince.set(day, now);
          }
          const isRipe = [...closingSince.values()].every((since) => now - since >= CLOSING_MS);
          const closing = [...closingSince.keys()].sort();
          if (step?.is === "measure" && isRipe) {
            for (const day of closing) sizes.set(day, statSync(join(place, `${day}.jsonl`)).size);
          }
          // The sealer was stopped between its look at the size and its note of it.
          if (step?.is === "note") {
            for (const day of closing)
              if (sizes.has(day)) noteClosed(place, day, sizes.get(day) ?? 0);
          }
          if (step?.is === "seal" && isRipe) {
            for (const day of closing) stepsAtOnce(sealDay(place, day, NOON));
            closingSince = new Map();
            sizes.clear();
          }
        };
        const time = {
          uptimeMs: () => {
            happen();
            return now;
          },
          pause: () => {
            now += 50;
            happen();
          },
        };
        const open = (path: string) => {
          happen();
          return openSync(path, "a");
        };
        const writers = [0, 1].map(() => new LedgerWriter(place, open, time));
        let n = 0;
        for (const one of lines) {
          for (let i = 0; i < one.after; i++) happen();
          const at = `${dayOf(one.day)}T12`;
          const writer = writers[one.writer] as LedgerWriter;
          const texts = Array.from({ length: one.lines }, () => lineOf(n++, dayOf(one.day)));
          if (one.isSoon) writer.appendSoon(at, texts.join("\n"), true);
          else writer.append(at, texts.join("\n"), false);
        }
        for (const writer of writers) writer.close();
        const all = Array.from({ length: n }, (_, i) => i);
        const sorted = (found: number[]) => found.sort((a, b) => a - b);
        sealUpTo(place, dayOf(9));
        seen.push(...numbersIn(place, follower));
        expect(sorted(numbersIn(place))).toEqual(all);
        expect(sorted(seen)).toEqual(all);
        expect(verifyLedger(place).problems).toEqual([]);
      },
    ),
    { numRuns: 500 },
  );
});

test("a line behind the end of a closed file is read once, also by a reader that looks in between", () => {
  const follower = new LedgerFollower(folder);
  const seen: number[] = [];
  let now = 0;
  const pause = () => {
    seen.push(...numbersIn(folder, follower)); // the second line is in the file of the day
    noteClosed(folder, dayOf(1), size);
  };
  const writer = new LedgerWriter(folder, undefined, { uptimeMs: () => now, pause });
  writer.append(dayOf(1), lineOf(0, dayOf(1)), false);
  const { size } = statSync(join(folder, `${dayOf(1)}.jsonl`));
  beginClosing(folder, [dayOf(1)]);
  now = 2_000;
  writer.append(dayOf(1), lineOf(1, dayOf(1)), false);
  writer.close();
  seen.push(...numbersIn(folder, follower));
  expect([seen, numbersIn(folder)]).toEqual([
    [0, 1],
    [0, 1],
  ]);
});

test("a writer that was stopped while it opened a file does not write behind a seal", () => {
  write(folder, [{ day: dayOf(1), n: 0 }]);
  let now = 0;
  const open = (path: string) => {
    if (now === 0) sealUpTo(folder, dayOf(1));
    now = 2_000;
    return openSync(path, "a");
  };
  const writer = new LedgerWriter(folder, open, { uptimeMs: () => now, pause: () => {} });
  writer.append(dayOf(1), lineOf(1, dayOf(1)), false);
  writer.close();
  expect(numbersIn(folder)).toEqual([0, 1]);
  expect(verifyLedger(folder)).toEqual({ problems: [], sealed: 1, open: [dayOf(2)] });
});

/** What can be done to a history; the file of the day that it is about, or null when there is none. */
const DAMAGES: Record<
  string,
  (place: string, days: string[], pick: (n: number) => number) => string | null
> = {
  "edits a byte": (place, days, pick) =>
    rewrite(place, days, pick, (text) => {
      const at = pick(text.length - 1);
      return `${text.slice(0, at)}${text[at] === "x" ? "y" : "x"}${text.slice(at + 1)}`;
    }),
  "cuts the end": (place, days, pick) =>
    rewrite(place, days, pick, (text) => text.slice(0, pick(text.length - 1))),
  "removes a line": (place, days, pick) =>
    rewrite(place, days, pick, (text) => without(text, pick(text.split("\n").length - 2))),
  "repeats a line": (place, days, pick) =>
    rewrite(place, days, pick, (text) => {
      const lines = text.split("\n");
      const at = pick(lines.length - 2);
      return [...lines.slice(0, at + 1), ...lines.slice(at)].join("\n");
    }),
  "swaps two lines": (place, days, pick) =>
    rewrite(place, days, pick, (text) => {
      const [first = "", second = "", ...rest] = text.split("\n");
      return second === "" ? `${first}x\n` : [second, first, ...rest].join("\n");
    }),
  "appends a line": (place, days, pick) =>
    rewrite(place, days, pick, (text) => `${text}{"at":"2026","event":"ended"}\n`),
  "removes a file": (place, days, pick) => remove(place, days, pick, ["jsonl"]),
  "removes a seal": (place, days, pick) => remove(place, days, pick, ["seal"]),
  "removes a day": (place, days, pick) => remove(place, days, pick, ["jsonl", "seal"]),
  "edits a seal": (place, days, pick) => {
    const path = join(place, `${days[pick(days.length - 1)]}.seal`);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(/"at":"..../, '"at":"1999'));
    return null;
  },
  "removes the head": (place) => {
    rmSync(join(place, "head.json"));
    return "head.json";
  },
};

function rewrite(
  place: string,
  days: string[],
  pick: (n: number) => number,
  change: (text: string) => string,
): string {
  const file = `${days[pick(days.length - 1)]}.jsonl`;
  const text = readFileSync(join(place, file), "utf8");
  writeFileSync(join(place, file), change(text));
  return file;
}

function without(text: string, line: number): string {
  return text
    .split("\n")
    .filter((_, i) => i !== line)
    .join("\n");
}

function remove(
  place: string,
  days: string[],
  pick: (n: number) => number,
  kinds: string[],
): string | null {
  const day = days[pick(days.length - 1)];
  for (const kind of kinds) rmSync(join(place, `${day}.${kind}`));
  return kinds.includes("jsonl") && kinds.length === 1 ? `${day}.jsonl` : null;
}

test.each(Object.entries(DAMAGES))(
  "verify finds it when somebody %s, and only then",
  (_, damage) => {
    const history = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 25 });
    holds(
      fc.property(
        history,
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.nat(), { minLength: 2 }),
        (lines, until, picks) => {
          const place = freshFolder();
          write(
            place,
            lines.slice(0, 12).map((day, n) => ({ day: dayOf(day), n })),
          );
          sealUpTo(place, dayOf(until));
          write(
            place,
            lines.slice(12).map((day, n) => ({ day: dayOf(day), n })),
          );
          sealUpTo(place, dayOf(7));
          expect(verifyLedger(place)).toMatchObject({ problems: [] });
          expect(verifyLedger(place, { quick: true })).toMatchObject({ problems: [] });
          const days = [...daysIn(place).seal].sort();
          let n = 0;
          const file = damage(place, days, (most) => (picks[n++ % picks.length] ?? 0) % (most + 1));
          const { problems } = verifyLedger(place);
          expect(problems).not.toEqual([]);
          if (file !== null) expect(problems[0]?.file).toBe(file);
          // A pass of the sealer hides nothing.
          sealUpTo(place, dayOf(9));
          expect(verifyLedger(place).problems).not.toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  },
);

test("verify finds a head of another day, and an earlier one put back", () => {
  const head = join(folder, "head.json");
  write(folder, [{ day: dayOf(1), n: 0 }]);
  sealUpTo(folder, dayOf(1));
  const earlier = readFileSync(head, "utf8");
  write(folder, [{ day: dayOf(2), n: 1 }]);
  sealUpTo(folder, dayOf(2));
  const last = readFileSync(head, "utf8");
  const problems = (text: string) => {
    writeFileSync(head, text);
    return verifyLedger(folder).problems.map(({ file }) => file);
  };
  expect(problems(last.replace(dayOf(2), dayOf(1)))).toEqual([`${dayOf(1)}.seal`]);
  expect(problems(earlier)).toEqual(["head.json"]);
  // As after a kill before the head is written.
  beginClosing(folder, [dayOf(2)]);
  expect(problems(earlier)).toEqual([]);
  sealUpTo(folder, dayOf(2));
  expect([verifyLedger(folder).problems, readFileSync(head, "utf8")]).toEqual([[], last]);
});

test("the run's .viv/ shows that the ledger, or all its seals, were removed; sealing again hides nothing", () => {
  for (const place of ["run/ledger", "pit/record/ledger", "record/ledger"]) {
    const ledger = join(freshFolder(), place);
    const run = join(ledger, place.startsWith("pit") ? "../.." : "..");
    mkdirSync(join(run, ".viv"), { recursive: true });
    mkdirSync(ledger, { recursive: true });
    write(
      ledger,
      [1, 2].map((n) => ({ day: dayOf(n), n })),
    );
    sealUpTo(ledger, dayOf(2));
    expect(verifyLedger(ledger), place).toEqual({ problems: [], sealed: 2, open: [] });
    const isSeal = (name: string) => !name.endsWith(".jsonl");
    for (const name of readdirSync(ledger).filter(isSeal)) rmSync(join(ledger, name));
    const lost = [{ file: `${dayOf(2)}.seal` }];
    expect(verifyLedger(ledger), place).toMatchObject({ problems: lost, sealed: 0 });
    sealUpTo(ledger, dayOf(2));
    expect(verifyLedger(ledger).problems, place).toMatchObject(lost);
    write(ledger, [{ day: dayOf(3), n: 3 }]);
    sealUpTo(ledger, dayOf(3));
    expect(verifyLedger(ledger, { quick: true }).problems, place).not.toEqual([]);
    // Lost, it says nothing; damaged, neither.
    writeFileSync(join(run, ".viv/ledger-head.json"), "[]");
    rmSync(ledger, { recursive: true });
    expect(verifyLedger(ledger), place).toEqual({ problems: [], sealed: 0, open: [] });
  }
});

test("the copy of the head is behind after a crash, or missing, and that is no problem", () => {
  const ledger = join(folder, "ledger");
  const copy = join(folder, ".viv/ledger-head.json");
  for (const one of [".viv", "ledger"]) mkdirSync(join(folder, one));
  write(ledger, [{ day: dayOf(1), n: 1 }]);
  sealUpTo(ledger, dayOf(1));
  const earlier = readFileSync(copy, "utf8");
  write(ledger, [{ day: dayOf(2), n: 2 }]);
  sealUpTo(ledger, dayOf(2));
  writeFileSync(copy, earlier);
  expect(verifyLedger(ledger).problems).toEqual([]);
  rmSync(copy);
  mkdirSync(copy); // cannot be replaced
  write(ledger, [{ day: dayOf(3), n: 3 }]);
  sealUpTo(ledger, dayOf(3));
  expect(verifyLedger(ledger)).toEqual({ problems: [], sealed: 3, open: [] });
});

test("names the line, also of a long file", () => {
  for (const [count, problem] of [
    [50, "was changed: the first difference is at line 18"],
    [5_000, "was changed: the first difference is at lines 16 to 20"],
  ] as const) {
    const place = freshFolder();
    write(
      place,
      Array.from({ length: count }, (_, n) => ({ day: dayOf(1), n })),
    );
    sealUpTo(place, dayOf(1));
    const path = join(place, `${dayOf(1)}.jsonl`);
    writeFileSync(path, readFileSync(path, "utf8").replace('"n":17}', '"n":71}'));
    expect(verifyLedger(place).problems).toMatchObject([{ file: `${dayOf(1)}.jsonl`, problem }]);
    expect(verifyLedger(place, { quick: true }).problems).toEqual([]);
  }
});
