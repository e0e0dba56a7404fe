import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { fakedClock, hasFakedClock } from "../support/faked-clock.ts";
import { newFolder } from "../support/folders.ts";
import { Running, viv } from "./support.ts";

/** The ledgers of run, crew and warden, as a real `viv up` writes and seals them. */

const TOML = `run = "run"
[warden]
state = "w"
[crew]
grace = "1h"
[crew.moss]
def = "moss.md"
command = "echo hi"
every = "1h"
`;

interface Verified {
  ok: boolean;
  ledgers: { name: string; problems: unknown[]; sealed: number; open: string[] }[];
}

it.skipIf(!hasFakedClock)(
  "are shown as one, and each is sealed and verified when its day is over",
  async () => {
    const folder = newFolder("viv-rooms-");
    const clock = fakedClock(folder);
    const around = { cwd: folder, env: { VIV_STATE: join(folder, "state"), ...clock.env } };
    const say = (...args: string[]) => viv(args, around);
    const json = <T>(...args: string[]) => JSON.parse(say(...args, "--json").stdout) as T;
    const lines = () =>
      json<{ lines: Record<string, string>[] }>("ledger", "show", "--limit", "1000").lines.map(
        ({ room, event, agent, outcome }) =>
          [room, event, agent, outcome].filter(Boolean).join(" "),
      );
    writeFileSync(join(folder, "viv.toml"), TOML);
    writeFileSync(join(folder, "moss.md"), "You are moss.\n");
    clock.set("2026-03-01 12:00:00");
    const up = new Running(["up", "--no-server", "--json"], around);
    await up.says('"ready"');
    expect(say("crew", "tick", "moss").stdout).toContain("moss done");
    expect(say("crew", "pause", "moss").status).toBe(0);
    expect(say("crew", "resume", "moss").status).toBe(0);
    const warrant = ["--socket", "/nowhere/s", "--reason", "no_progress", "--by", "pia"];
    expect(say("warrant", "file", "no-such", ...warrant).status).toBe(0);
    await until("the verdict", () => lines().some((line) => line.includes("already_dead")));
    up.child.kill("SIGTERM");
    expect((await up.end()).status).toBe(0);

    const all = lines();
    const of = (room: string) =>
      all.flatMap((line) => (line.startsWith(`${room} `) ? [line.slice(room.length + 1)] : []));
    expect(of("crew")).toEqual([
      ...["started crew", "tick_started moss", "tick_ended moss done"],
      ...["paused moss", "resumed moss", "stopped crew"],
    ]);
    const [started, filed, begun, verdict, stopped] = of("warden");
    expect([started, filed, stopped]).toEqual(["started warden", "filed pia", "stopped warden"]);
    expect(begun).toMatch(/^dance_started dog-/);
    expect(verdict).toBe(begun?.replace("dance_started", "already_dead"));
    expect(of("fleet").at(0)).toBe("up_started up");
    expect(of("fleet").at(-1)).toBe("up_stopped up");

    // The next day each of the three seals its own.
    clock.set("2026-03-02 00:15:00");
    const next = new Running(["up", "--no-server", "--json"], around);
    await next.says('"ready"');
    const ledgers = { run: "run/ledger", crew: ".crew/ledger", warden: "w/ledger" };
    const file = (of: keyof typeof ledgers, name: string) => join(folder, ledgers[of], name);
    await until("all are sealed", () =>
      (["run", "crew", "warden"] as const).every((of) => existsSync(file(of, "2026-03-01.seal"))),
    );
    next.child.kill("SIGTERM");
    expect((await next.end()).status).toBe(0);
    const verified = json<Verified>("ledger", "verify");
    expect(verified).toMatchObject({
      ok: true,
      ledgers: [
        { name: "run", sealed: 1, open: ["2026-03-02"] },
        { name: "crew", sealed: 1, open: ["2026-03-02"] },
        { name: "warden", sealed: 1, open: ["2026-03-02"] },
      ],
    });
    expect(lines().slice(0, all.length)).toEqual(all);

    // An edited line of any room is found, and named with its ledger.
    for (const [i, name] of (["crew", "warden"] as const).entries()) {
      const path = file(name, "2026-03-01.jsonl");
      writeFileSync(path, readFileSync(path, "utf8").replace(/moss|pia/, "else"));
      const said = say("ledger", "verify", "--json");
      expect(said.status).toBe(1);
      const bad = (JSON.parse(said.stdout) as Verified).ledgers.filter(
        (one) => one.problems.length,
      );
      expect(bad.map((one) => one.name)).toEqual(["crew", "warden"].slice(0, i + 1));
    }
  },
);
