import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Faults } from "../../../test/support/faults.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { isVivError } from "../../base/errors.ts";
import { stateFolder } from "../../platform/files/state-files.ts";
import { accountsIn } from "./account-files.ts";
import type { Closing } from "./account-policy.ts";

/** Accounts on real files, bad files and full disks. */

const NOW = Date.parse("2026-11-15T12:00:00Z");
const iso = (ms: number) => new Date(ms).toISOString();

function scene() {
  const folder = join(newFolder(), "state/accounts");
  const clock = { now: NOW };
  const accounts = accountsIn(folder, { now: () => clock.now, random: () => 1 });
  const pathOf = (name: string) => join(folder, `${name}.json`);
  const write = (name: string, text: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(pathOf(name), text);
  };
  return { folder, accounts, clock, pathOf, write };
}

function closing(more: Partial<Closing> = {}): Closing {
  const by = { run: "/r", worker: "w", task: "t" };
  const said = { message: "429 slow down", todo: "", by };
  return { reason: "rate_limited", until: null, ...said, began: NOW, ...more };
}

async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return isVivError(error) ? error.code : String(error);
  }
  return "none";
}

describe("on disk", () => {
  test("a file that cat can show, for this user only", async () => {
    const { folder, accounts, pathOf } = scene();
    expect(accounts.read("main")).toMatchObject({ account: "main", state: "open", failures: 0 });
    expect(existsSync(folder)).toBe(false);
    await accounts.close("main", closing({ until: iso(NOW + 5_000) }));
    expect(JSON.parse(readFileSync(pathOf("main"), "utf8"))).toEqual({
      account: "main",
      state: "closed",
      reason: "rate_limited",
      until: iso(NOW + 5_000),
      since: iso(NOW),
      message: "429 slow down",
      todo: "",
      by: { run: "/r", worker: "w", task: "t" },
      failures: 1,
    });
    expect(readFileSync(pathOf("main"), "utf8")).toMatch(/^\{\n {2}"/);
    expect(statSync(pathOf("main")).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder).filter((name) => !name.startsWith("."))).toEqual(["main.json"]);
  });

  test("closed until its time, then open; the next pause is longer", async () => {
    const { accounts, clock } = scene();
    expect(await accounts.close("main", closing())).toMatchObject({ until: iso(NOW + 60_000) });
    clock.now += 59_999;
    expect(accounts.read("main").state).toBe("closed");
    clock.now += 1;
    expect(accounts.read("main")).toMatchObject({ state: "open", failures: 1 });
    await accounts.close("main", closing({ began: clock.now }));
    expect(accounts.read("main")).toMatchObject({ until: iso(clock.now + 120_000), failures: 2 });
    clock.now += 120_000;
    await accounts.succeeded("main", clock.now);
    expect(accounts.read("main")).toMatchObject({ state: "open", failures: 0 });
  });

  test("a success writes only when there is something to take back", async () => {
    const { accounts, folder, pathOf } = scene();
    await accounts.succeeded("main", NOW);
    expect(existsSync(folder)).toBe(false);
    await accounts.close("main", closing());
    const before = readFileSync(pathOf("main"), "utf8");
    await accounts.succeeded("main", NOW - 1);
    expect(readFileSync(pathOf("main"), "utf8")).toBe(before);
  });

  test("parked until a person opens it", async () => {
    const { accounts, clock } = scene();
    const refused = { message: "invalid key", todo: "run: claude login" };
    await accounts.close("main", closing({ reason: "unauthorized", ...refused }));
    clock.now += 400 * 86_400_000;
    await accounts.succeeded("main", clock.now);
    await accounts.close("main", closing({ began: clock.now }));
    expect(accounts.read("main")).toMatchObject({ state: "parked", ...refused });
    expect(await accounts.open("main", "pia")).toMatchObject({
      state: "open",
      by: { person: "pia" },
    });
    expect(accounts.read("main")).toMatchObject({ state: "open", failures: 0 });
  });

  test("lists all by name, and ignores other files", async () => {
    const { accounts, write } = scene();
    expect(accounts.list()).toEqual([]);
    for (const name of ["b", "a"]) await accounts.close(name, closing());
    write("c d", "{}");
    expect(accounts.list().map(({ account }) => account)).toEqual(["a", "b"]);
  });

  test("the change number differs after each change", async () => {
    const { accounts } = scene();
    const seen = [accounts.changedAt()];
    expect(seen).toEqual([0]);
    const acts = [
      () => accounts.close("a", closing()),
      () => accounts.close("b", closing()),
      () => accounts.open("a", "pia"),
    ];
    for (const act of acts) {
      await act();
      const changed = accounts.changedAt();
      expect(seen).not.toContain(changed);
      seen.push(changed);
      const tick = Date.now() + 20; // the file system's clock may stand still for so long
      while (Date.now() < tick);
    }
    accounts.read("a");
    await accounts.succeeded("c", NOW);
    expect(accounts.changedAt()).toBe(seen.at(-1));
  });

  test("names are checked before they become paths", async () => {
    const { accounts } = scene();
    for (const name of ["", "../x", "a/b", ".a", "a\nb", "x".repeat(129)]) {
      expect(await codeOf(() => accounts.read(name))).toBe("INVALID");
      expect(await codeOf(() => accounts.close(name, closing()))).toBe("INVALID");
      expect(await codeOf(() => accounts.open(name, "pia"))).toBe("INVALID");
    }
  });
});

describe("a file that cannot be used", () => {
  test.each([
    ["not JSON", "{"],
    ["empty", ""],
    ["no object", "[1]"],
    ["an unknown state", '{"state":"ajar"}'],
    ["closed without a time", '{"state":"closed","reason":"rate_limited","since":"x"}'],
    [
      "closed until never",
      '{"state":"closed","reason":"rate_limited","since":"2026-11-15T12:00:00Z","until":"z"}',
    ],
    [
      "parked for a reason that is none",
      '{"state":"parked","reason":"x","since":"2026-11-15T12:00:00Z"}',
    ],
    ["huge", `"${"x".repeat(70_000)}"`],
  ])("%s: open, with the reason, and the next closing writes it anew", async (_, text) => {
    const { accounts, write, pathOf } = scene();
    write("main", text);
    const state = accounts.read("main");
    expect(state).toMatchObject({ state: "open", failures: 0 });
    expect(state.trouble).toContain(pathOf("main"));
    expect(state.trouble).toContain("viv accounts open main");
    expect(accounts.list()).toEqual([state]);
    await accounts.succeeded("main", NOW);
    expect((await accounts.close("main", closing())).trouble).toBeUndefined();
    expect(accounts.read("main").trouble).toBeUndefined();
    expect(accounts.read("main").state).toBe("closed");
  });

  test("a link is not followed, but replaced", async () => {
    const { accounts, folder, pathOf } = scene();
    const elsewhere = join(newFolder(), "secret.json");
    writeFileSync(elsewhere, '{"state":"open"}');
    mkdirSync(folder, { recursive: true });
    symlinkSync(elsewhere, pathOf("main"));
    expect(accounts.read("main").trouble).toBeDefined();
    await accounts.close("main", closing());
    expect(readFileSync(elsewhere, "utf8")).toBe('{"state":"open"}');
    expect(accounts.read("main").state).toBe("closed");
  });

  test("a folder in its place: reading goes on, closing fails with the reason", async () => {
    const { accounts, pathOf } = scene();
    mkdirSync(join(pathOf("main"), "x"), { recursive: true });
    expect(accounts.read("main").trouble).toBeDefined();
    expect(await codeOf(() => accounts.close("main", closing()))).toBe("CORRUPT");
  });

  test("edited by hand: missing keys are empty, others are ignored", async () => {
    const { accounts, write } = scene();
    const times = `"since":"2026-11-15T11:00:00Z","until":"2026-11-15T13:00:00Z"`;
    write("main", `{"state":"closed","reason":"by_hand",${times},"more":1,"failures":-3}`);
    expect(accounts.read("main")).toMatchObject({ state: "closed", message: "", failures: 0 });
    write("main", `{"state":"closed","reason":"unavailable",${times},"by":{"run":"/r"}}`);
    expect(accounts.read("main").by).toEqual({ run: "/r", worker: "", task: "" });
    write("main", `{"state":"open","reason":"quota",${times},"message":"m","todo":"t"}`);
    expect(accounts.read("main")).toMatchObject({ state: "open", message: "", todo: "" });
  });
});

test("the keys of an account have one order", async () => {
  const { accounts, write } = scene();
  const keys = () => Object.keys(JSON.parse(JSON.stringify(accounts.read("main")))).join(" ");
  await accounts.close("main", closing());
  const closed = "account by failures state reason until since message todo";
  expect(keys()).toBe(closed);
  await accounts.close("main", closing({ reason: "quota" }));
  expect(keys()).toBe(closed);
  await accounts.open("main", "pia");
  const open = "account state reason until message todo since by failures";
  expect(keys()).toBe(open);
  write("main", "{");
  expect(keys()).toBe(`${open} trouble`);
});

test.each([1, 2, 3, 4, 5, 6])(
  "a full disk at change %i: an error, and no half file",
  async (at) => {
    const { accounts, folder, pathOf } = scene();
    await accounts.close("main", closing());
    const before = readFileSync(pathOf("main"), "utf8");
    const later = closing({ until: iso(NOW + 3_600_000) });
    const faults = new Faults("enospc", at);
    let code: string;
    try {
      code = await codeOf(() => accounts.close("main", later));
    } finally {
      faults.heal();
    }
    expect(code).toBe(faults.happened ? "DISK_FULL" : "none");
    if (!faults.happened) return;
    expect(readFileSync(pathOf("main"), "utf8")).toBe(before);
    expect(readdirSync(folder).filter((name) => name.endsWith(".new"))).toEqual([]);
    expect(await accounts.close("main", later)).toMatchObject({ until: later.until });
  },
);

test("a half-written file of a dead process is replaced", async () => {
  const { accounts, folder } = scene();
  await accounts.close("main", closing());
  writeFileSync(join(folder, ".main.new"), '{"sta');
  expect((await accounts.open("main", "pia")).state).toBe("open");
  expect(accounts.list()).toHaveLength(1);
});

test.skipIf(process.getuid?.() === 0)("a folder that may not be read counts as empty", async () => {
  const { accounts, folder } = scene();
  await accounts.close("main", closing());
  chmodSync(folder, 0);
  expect(accounts.read("main")).toMatchObject({ state: "open" });
  expect(accounts.read("main").trouble).toBeDefined();
  expect(await codeOf(() => accounts.close("main", closing({ began: NOW + 1 })))).toBe("READ_ONLY");
  chmodSync(folder, 0o700);
});

test("where the user's state is", async () => {
  const home = { HOME: "/home/pia" };
  expect(stateFolder({ ...home, VIV_STATE: "s" }, "/w")).toBe("/w/s");
  expect(stateFolder({ ...home, XDG_STATE_HOME: "/x" }, "/w")).toBe("/x/vivarium");
  expect(stateFolder({ ...home, XDG_STATE_HOME: "x" }, "/w")).toBe(
    "/home/pia/.local/state/vivarium",
  );
  expect(stateFolder(home, "/w")).toBe("/home/pia/.local/state/vivarium");
  expect(stateFolder({}, "/w")).toMatch(/^\/.*\/\.local\/state\/vivarium$/);
});
