import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FakeWarden } from "../../test/support/warden-host.ts";
import { FOLDERS } from "./folder.ts";

/** The seed's own files, exactly as its design document shows them. */
const SEED = {
  id: "dog-1704567890123",
  warrant: {
    id: "gt-abc123",
    target: "gt-gastown-Toast",
    reason: "no_response_health_check",
    requester: "deacon",
    filed_at: "2026-01-07T20:15:00Z",
  },
  state: "interrogating",
  attempt: 2,
  started_at: "2026-01-07T20:15:00Z",
  last_message_at: "2026-01-07T20:16:00Z",
  next_timeout: "2026-01-07T20:18:00Z",
};
const QUESTION = [
  "[DOG] HEALTH CHECK: Session gt-gastown-Toast, respond ALIVE within 120s or face termination.",
  "Warrant reason: no_response_health_check",
  "Filed by: deacon",
  "Attempt: 2/3",
];

function left(state: string, attempt = 2): FakeWarden {
  const fake = new FakeWarden();
  for (const name of FOLDERS) mkdirSync(`${fake.folder}/${name}`, { recursive: true });
  const text = JSON.stringify({ ...SEED, state, attempt }, null, 2);
  writeFileSync(`${fake.folder}/active/${SEED.id}.json`, text);
  return fake;
}

const verdictOf = (fake: FakeWarden) => fake.files.receipts()[0];

describe("a dance that the seed has left", () => {
  test("without a time of filing: a session that is younger than the dance is another", async () => {
    const fake = left("interrogating");
    const warrant = { ...SEED.warrant, filed_at: "0001-01-01T00:00:00Z" };
    const path = `${fake.folder}/active/${SEED.id}.json`;
    writeFileSync(path, JSON.stringify({ ...SEED, warrant }));
    expect(fake.files.dances()[0]?.warrant.filed_at).toBe("2026-01-07T20:15:00.000Z");
  });

  test.each([
    ["interrogating", [2, 3]],
    ["evaluating", [3]],
    ["executing", [2, 3]],
    ["idle", [2, 3]],
  ])("%s: is asked by this warden before it is ended", async (state, attempts) => {
    const fake = left(state);
    const toast = fake.target("gt-gastown-Toast");
    toast.show(...QUESTION);
    await fake.up();
    expect(fake.emitted("resumes")).toMatchObject([{ dog: SEED.id, state }]);
    await fake.pass(10_000);
    expect(toast.signalled).toEqual([]);
    await fake.pass(500_000);
    expect(toast.typed.map(({ attempt }) => attempt)).toEqual(attempts);
    expect(verdictOf(fake)).toMatchObject({ dog: SEED.id, verdict: "executed" });
    const times = attempts.length === 1 ? "once" : `${attempts.length} times`;
    expect(verdictOf(fake)?.why).toContain(`asked ${times}`);
    expect(fake.told[0]?.warrant).toMatchObject({
      ...SEED.warrant,
      filed_at: "2026-01-07T20:15:00.000Z",
    });
  });

  test("executing at the last attempt: one that lives is asked, and its answer pardons it", async () => {
    const fake = left("executing", 3);
    const toast = fake.target("gt-gastown-Toast", { answers: { attempt: 3, afterMs: 200_000 } });
    await fake.up();
    await fake.pass(500_000);
    expect(toast.signalled).toEqual([]);
    expect(verdictOf(fake)).toMatchObject({ verdict: "pardoned" });
  });

  test("executing, and it is gone: the kill is verified", async () => {
    const fake = left("executing", 3);
    await fake.up();
    expect(verdictOf(fake)).toMatchObject({ verdict: "executed", exit: [] });
    expect(verdictOf(fake)?.why).toContain("how was not seen");
  });

  test("interrogating, and it is gone: it was dead already", async () => {
    const fake = left("interrogating");
    await fake.up();
    expect(verdictOf(fake)).toMatchObject({ verdict: "already_dead" });
  });

  test("another session of that name: failed, and nothing is done", async () => {
    const fake = left("executing");
    const other = fake.target("gt-gastown-Toast", { cannotBeTold: "another session of that name" });
    await fake.up();
    await fake.pass(1_000_000);
    expect(verdictOf(fake)).toMatchObject({ verdict: "failed" });
    expect([...other.typed, ...other.signalled]).toEqual([]);
  });

  test.each(["interrogating", "evaluating", "executing"])(
    "%s: an answer to the seed's question counts",
    async (state) => {
      const fake = left(state);
      const toast = fake.target("gt-gastown-Toast");
      toast.show(...QUESTION, "● ALIVE, running the tests");
      await fake.up();
      expect(verdictOf(fake)).toMatchObject({ verdict: "pardoned" });
      expect(toast.typed).toEqual([]);
    },
  );

  test("an echo of it, wrapped by a box, does not", async () => {
    const fake = left("evaluating", 1);
    const toast = fake.target("gt-gastown-Toast");
    toast.show(
      "│ > [DOG] HEALTH CHECK: Session gt-gasto │",
      "│ wn-Toast, respond │",
      "│ ALIVE within 60s │",
    );
    await fake.up();
    await fake.pass(1_000);
    expect(toast.typed.map(({ attempt }) => attempt)).toEqual([2]);
  });

  test.each([
    ["pardoned", true, "pardoned"],
    ["complete", true, "pardoned"],
    ["complete", false, "already_dead"],
    ["failed", true, "failed"],
  ])("%s: is put into completed/, and no question is put", async (state, isThere, verdict) => {
    const fake = left(state, 3);
    const toast = isThere ? fake.target("gt-gastown-Toast") : null;
    await fake.up();
    await fake.pass(10_000);
    expect(readdirSync(`${fake.folder}/completed`)).toEqual([`${SEED.id}.json`]);
    expect(verdictOf(fake)).toMatchObject({ verdict });
    expect(toast?.typed ?? []).toEqual([]);
    expect(fake.files.dances()).toEqual([]);
  });

  test.each(["interrogating", "evaluating", "executing", "pardoned", "complete"])(
    "%s: a warden that is killed at any write goes on the same way",
    async (state) => {
      for (let killAt = 1; killAt <= 24; killAt++) {
        const fake = left(state);
        const toast = fake.target("gt-gastown-Toast", { answers: { attempt: 3, afterMs: 1_000 } });
        fake.killAt = killAt;
        await fake.up();
        await fake.pass(400_000);
        fake.killAt = null;
        if (fake.isDead) await fake.back();
        await fake.pass(400_000);
        expect(toast.signalled).toEqual([]);
        expect(fake.files.receipts()).toMatchObject([{ dog: SEED.id, verdict: "pardoned" }]);
        expect(fake.told.length).toBeGreaterThan(0);
        const asked = toast.typed.map(({ nonce }) => nonce);
        expect(new Set(asked).size).toBe(asked.length);
      }
    },
  );

  test("more of them than dogs: all go on, and a warrant waits until there is room", async () => {
    const fake = left("interrogating");
    fake.target("gt-gastown-Toast");
    for (let n = 0; n < 5; n++) {
      fake.target(`t${n}`, { answers: { attempt: 2, afterMs: 1_000 } });
      const warrant = { ...SEED.warrant, id: `gt-${n}`, target: `t${n}` };
      const text = JSON.stringify({ ...SEED, id: `dog-${n}`, warrant });
      writeFileSync(`${fake.folder}/active/dog-${n}.json`, text);
    }
    fake.target("next");
    fake.file("next");
    await fake.up();
    expect(fake.emitted("resumes")).toHaveLength(6);
    expect(fake.emitted("begins")).toEqual([]);
    await fake.pass(2_000);
    expect(fake.emitted("begins")).toMatchObject([{ target: "next" }]);
  });

  test("any other file is left alone", async () => {
    const fake = new FakeWarden();
    for (const name of FOLDERS) mkdirSync(`${fake.folder}/${name}`, { recursive: true });
    const bad = { ...SEED, warrant: { ...SEED.warrant, id: "../x" } };
    writeFileSync(`${fake.folder}/active/${SEED.id}.json`, JSON.stringify(bad));
    writeFileSync(
      `${fake.folder}/active/dog-9.json`,
      JSON.stringify({ id: "dog-9", state: "idle" }),
    );
    await fake.up();
    expect(fake.emitted("trouble")).toHaveLength(2);
    expect(readdirSync(`${fake.folder}/active`).sort()).toEqual([`${SEED.id}.json`, "dog-9.json"]);
  });
});

test("a dance of ours has the seed's keys, in its order, and its times", async () => {
  const fake = new FakeWarden();
  fake.target("Toast");
  fake.file("Toast");
  await fake.up();
  const [name = ""] = readdirSync(`${fake.folder}/active`);
  const dance = JSON.parse(readFileSync(`${fake.folder}/active/${name}`, "utf8"));
  expect(name).toMatch(/^dog-\d{13}\.json$/);
  expect(Object.keys(dance).slice(0, 7)).toEqual(Object.keys(SEED));
  expect(Object.keys(dance.warrant)).toEqual(expect.arrayContaining(Object.keys(SEED.warrant)));
  expect(dance).toMatchObject({ state: "interrogating", attempt: 1 });
  expect(Date.parse(dance.next_timeout) - Date.parse(dance.last_message_at)).toBe(60_000);
});

describe("a warrant with its id inside", () => {
  const SEEDED = { ...SEED.warrant, id: "gt-abc" };

  test("has that id, whatever its file is called", async () => {
    const fake = new FakeWarden();
    const toast = fake.target("gt-gastown-Toast");
    for (const name of FOLDERS) mkdirSync(`${fake.folder}/${name}`, { recursive: true });
    writeFileSync(`${fake.folder}/warrants/warrant-abc.json`, JSON.stringify(SEEDED));
    expect(fake.files.queued().warrants).toMatchObject([{ id: "gt-abc" }]);
    await fake.up();
    expect(fake.files.dances()).toMatchObject([{ warrant: { id: "gt-abc" } }]);
    expect(readdirSync(`${fake.folder}/warrants`)).toEqual([]);
    fake.files.askToRelease(fake.files.dances()[0]?.id ?? "");
    await fake.pass(1_000_000);
    expect(fake.files.receipts()).toMatchObject([{ warrant: { id: "gt-abc" } }]);
    expect(toast.signalled).toHaveLength(1);
  });

  test("is taken back by that id", async () => {
    const fake = new FakeWarden();
    for (const name of FOLDERS) mkdirSync(`${fake.folder}/${name}`, { recursive: true });
    writeFileSync(`${fake.folder}/warrants/warrant-abc.json`, JSON.stringify(SEEDED));
    expect(await fake.files.withdrawQueued("gt-abc")).toBe(true);
    expect(fake.files.withdrawn("gt-abc")).toMatchObject({ target: "gt-gastown-Toast" });
  });

  test("that another file has, or that is none, is rejected with the reason", async () => {
    const { readFileSync, utimesSync } = await import("node:fs");
    const fake = new FakeWarden();
    fake.target("gt-gastown-Toast");
    for (const name of FOLDERS) mkdirSync(`${fake.folder}/${name}`, { recursive: true });
    const old = new Date(fake.world.clock.now() - 60_000);
    for (const [name, warrant] of [
      ["a.json", { ...SEEDED, target: "other" }],
      ["gt-abc.json", SEEDED],
      ["z.json", { ...SEEDED, target: "third" }],
      ["evil.json", { ...SEEDED, id: "../../evil" }],
    ] as const) {
      writeFileSync(`${fake.folder}/warrants/${name}`, JSON.stringify(warrant));
      utimesSync(`${fake.folder}/warrants/${name}`, old, old);
    }
    await fake.up();
    expect(fake.files.dances()).toMatchObject([
      { warrant: { id: "gt-abc", target: "gt-gastown-Toast" } },
    ]);
    const why = (name: string) => readFileSync(`${fake.folder}/rejected/${name}.why`, "utf8");
    for (const name of ["a.json", "z.json"]) {
      expect(why(name)).toContain("gt-abc.json has the id gt-abc already");
    }
    expect(why("evil.json")).toContain("its id may have only");
  });
});
