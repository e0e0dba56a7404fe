import { describe, expect, it } from "vitest";
import { CATALOG } from "../../src/app/catalog.ts";
import { type Flag, flagsOf, GLOBAL_FLAGS } from "../../src/operation/flags.ts";
import { newFolder } from "../support/folders.ts";
import { cli, ok } from "./support.ts";

/**
 * One meaning for each name of a flag, and one name for each meaning, over all commands. The meaning
 * of a flag is its line of help up to a parenthesis, in which a command adds its own details.
 */
interface Used extends Flag {
  command: string;
  /** It is what the command is about, and rarely typed as a flag: `viv complete ID`. */
  isSubject: boolean;
}

const all: Used[] = [];
for (const { name: command, load } of CATALOG.commands) {
  const loaded = await load();
  const subjects = (loaded.positionals ?? []).map(({ key }) => key);
  for (const flag of await flagsOf(loaded)) {
    all.push({ ...flag, command, isSubject: subjects.includes(flag.key) });
  }
}

const meaningOf = ({ describe }: Flag) => describe.split(" (")[0] ?? "";
const namesOf = (flags: readonly Used[]) => [...new Set(flags.map(({ name }) => name))];
const commandsOf = (flags: readonly Used[]) => flags.map(({ command }) => command).join(", ");

type Property = (flag: Used) => string;

function grouped(flags: readonly Used[], by: Property): [string, Used[]][] {
  const groups = new Map<string, Used[]>();
  for (const flag of flags) groups.set(by(flag), [...(groups.get(by(flag)) ?? []), flag]);
  return [...groups];
}

/** Of flags that have one property in common, those that differ in another. */
function differing(flags: readonly Used[], common: Property, other: Property) {
  return grouped(flags, common).flatMap(([name, group]) => {
    const parts = grouped(group, other);
    if (parts.length === 1) return [];
    return [{ [name]: parts.map(([key, part]) => `${key}: ${commandsOf(part)}`) }];
  });
}

describe("the flags of all commands", () => {
  it("have one meaning for a name", () => {
    const flags = all.filter(({ isSubject }) => !isSubject);
    expect(differing(flags, ({ name }) => name, meaningOf)).toEqual([]);
  });

  it("have one name for a meaning", () => {
    const flags = all.filter(({ isSubject }) => !isSubject);
    expect(differing(flags, meaningOf, ({ name }) => name)).toEqual([]);
  });

  it("have one type and one placeholder for a name", () => {
    const type = ({ name, kind, placeholder }: Used) =>
      // An id is one, or several where the command takes several.
      `${name === "id" ? "id" : kind} ${placeholder}`;
    // The title of a board's task is typed as words, without its flag.
    const flags = all.filter(
      ({ name, isSubject }) => name !== "action" && !(name === "title" && isSubject),
    );
    expect(differing(flags, ({ name }) => name, type)).toEqual([]);
  });

  it("have one letter for a name, and one name for a letter of a command", () => {
    expect(
      differing(
        all,
        ({ name }) => name,
        ({ short }) => short ?? "none",
      ),
    ).toEqual([]);
    for (const { name } of CATALOG.commands) {
      const letters = [...all.filter(({ command }) => command === name), ...GLOBAL_FLAGS].flatMap(
        ({ short }) => short ?? [],
      );
      expect(new Set(letters).size, name).toBe(letters.length);
    }
  });

  it("are none of those that stand everywhere", () => {
    const everywhere = GLOBAL_FLAGS.map(({ name }) => name);
    expect(namesOf(all).filter((name) => everywhere.includes(name))).toEqual([]);
  });

  it("have a line of help that says something, without a full stop", () => {
    const bad = all.filter(({ describe }) => describe.length < 5 || /[.]$|^[A-Z]/.test(describe));
    expect(bad.map(({ command, name }) => `${command} --${name}`)).toEqual([]);
  });
});

/** Spellings of earlier versions and of swarm-lib, in scripts: they work, and are in no help. */
const OLD: Record<string, [command: string, now: string][]> = {
  state: [
    ...["crew up", "crew ps", "crew tick", "crew pause", "crew resume", "crew stop"],
    ...["keeper up", "gate", "warrant file", "warrant ls", "warrant show", "warrant withdraw"],
    ...["epitaph", "dog pool status", "dog status", "dog pool allocate", "dog pool release"],
    ...["dog dances", "dog warrants", "warden up", "warden status", "warden pause"],
    ...["warden resume", "alive"],
  ].map((command) => [command, "state-dir"]),
  "worker-id": [
    ["work", "worker"],
    ["service", "worker"],
  ],
  "run-dir": [["work", "run"]],
  "task-type-filter": [["work", "types"]],
  grace: [
    ["crew up", "boot-grace"],
    ["keeper up", "boot-grace"],
  ],
  by: [["costs", "group-by"]],
  max: [["claim", "limit"]],
  why: [["warden pause", "note"]],
  reason: [
    ["warden pause", "note"],
    ["warrant file", "note"],
  ],
  "created-by": [["enqueue", "by"]],
  ids: ["cancel", "retry", "approve", "reject"].map((command) => [command, "id"]),
  for: [["pit toss", "type"]],
  "part-of": [["pit toss", "parent"]],
  after: [["pit toss", "depends-on"]],
  id: [["board open", "slug"]],
};

describe("old spellings", () => {
  const rows = Object.entries(OLD).flatMap(([old, pairs]) =>
    pairs.map(([command, now]) => ({ command, old, now })),
  );

  it.each(rows)("viv $command --$old is --$now", async ({ command, old, now }) => {
    const { parseFlags } = await import("../../src/operation/flags.ts");
    const loaded = await CATALOG.commands.find(({ name }) => name === command)?.load();
    if (loaded === undefined) throw new Error(`no command ${command}`);
    const value = loaded.op.name === "costs" ? "model" : "3";
    const read = async (flag: string) =>
      (await parseFlags(command, loaded, [`--${flag}=${value}`])).values;
    expect(await read(old)).toEqual(await read(now));
    const help = await ok([...command.split(" "), "--help"]);
    expect(help).toMatch(new RegExp(` --${now} `));
    expect(help).not.toMatch(new RegExp(` --${old} `));
  });

  it("of board open: --state is --to", async () => {
    const help = await ok(["board", "open", "--help"]);
    expect(help).toMatch(/ --to /);
    expect(help).not.toMatch(/ --state /);
  });
});

describe("durations", () => {
  /** Flags of all commands that take one, read as one parser reads them. */
  const timed = all.filter(({ placeholder }) => placeholder === "DURATION");

  it("are flags of many commands", () => {
    expect(namesOf(timed).sort()).toEqual(
      [
        ...["boot-grace", "for", "grace", "heartbeat-interval", "interval", "keep-logs"],
        ...["kill-after", "patience", "poll-interval", "stagger", "stale-after", "timeout"],
      ].sort(),
    );
    expect(timed.filter(({ kind }) => kind !== "string")).toEqual([]);
  });

  it.each(timed.map(({ command, name }) => [command, name]))(
    "viv %s --%s refuses what is none, in the same words",
    async (command, name) => {
      const cwd = newFolder();
      const around = { cwd, env: { HOME: cwd, VIV_STATE: `${cwd}/state` } };
      await ok([...(command.startsWith("pit") ? ["pit"] : []), "init", "run"], around);
      const subject: Record<string, string[]> = {
        accounts: ["close", "main"],
        service: ["install", "--handler", "/bin/true"],
        work: ["--handler", "/bin/true"],
        enqueue: ["--type", "x"],
        "pit toss": ["run", "words"],
        "crew up": ["crew.org"],
        "keeper up": ["desk.org"],
        "warrant file": ["--pid", String(process.pid)],
      };
      const run = /^(work|service|enqueue|reap|pit sweep)$/.test(command) ? ["--run", "run"] : [];
      const args = [...command.split(" "), ...(subject[command] ?? []), ...run];
      const { status, stderr } = await cli([...args, `--${name}`, "5q"], around);
      expect(stderr).toContain(`"5q" is not a duration; write it like 90s, 10m, 2h or 1d.`);
      expect(status).toBe(2);
    },
  );

  it("reap takes a duration, and a number is seconds", async () => {
    const cwd = newFolder();
    await ok(["init", "run"], { cwd });
    for (const text of ["5m", "300", "0", "1.5", "500ms"])
      await ok(["reap", "--run", "run", "--stale-after", text], { cwd });
  });
});
