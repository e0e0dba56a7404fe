import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { fakedClock, hasFakedClock } from "../support/faked-clock.ts";
import { newFolder } from "../support/folders.ts";
import { Events, type Served } from "./support.ts";

/** `/events` over a real midnight. */

const BEFORE = "2026-03-01";
const AFTER = "2026-03-02";

it.skipIf(!hasFakedClock)(
  "each line comes once, through a stream that is open while the day changes and is sealed, and to one that resumes across it",
  async () => {
    const folder = newFolder("viv-midnight-");
    const clock = fakedClock(folder);
    const { set } = clock;
    const env = {
      ...{ VIV_STATE: join(folder, "state"), VIV_RUN: join(folder, "run"), ...clock.env },
    };
    const around = { cwd: folder, env };
    set(`${BEFORE} 23:59:50`);
    expect(viv(["init", "run"], around).status).toBe(0);
    const server = new Running(["serve", "--port", "0", "--json"], around);
    await server.says('"kind":"up"');
    const { address } = JSON.parse(server.stdout) as { address: string };
    const served = { server: { address } } as Served;
    const token = viv(["token"], around).stdout.trim();
    const posted: string[] = [];
    const post = async (...ids: string[]) => {
      for (const id of ids) {
        const answer = await fetch(`${address}/api/enqueue`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ type: "t", id }),
        });
        expect(answer.status).toBe(200);
        posted.push(id);
      }
    };
    const tasks = (events: Events) =>
      events.ledger().flatMap(({ event, task }) => (event === "enqueued" ? [task] : []));
    const untilSeen = (events: Events, count = posted.length) =>
      until("all were seen", () => tasks(events).length >= count);

    const open = await Events.open(served);
    await post("a", "b");
    await untilSeen(open);
    const beforeMidnight = open.lastId;
    await post("c");
    set(`${AFTER} 00:00:01`);
    await post("d", "e");
    await untilSeen(open);
    const afterMidnight = open.lastId;

    // Ten minutes later another process closes and seals the day, while lines come.
    set(`${AFTER} 00:10:05`);
    const sealer = new Running(
      ["work", "--handler", "/bin/true", "--types", "none", "--drain"],
      around,
    );
    for (let i = 0; i < 20; i++) await post(`s${i}`);
    expect((await sealer.end()).status).toBe(0);
    expect(existsSync(join(folder, `run/ledger/${BEFORE}.seal`))).toBe(true);
    await post("last");

    await untilSeen(open);
    expect(tasks(open)).toEqual(posted);
    const resumed = await Events.open(served, "/events", beforeMidnight);
    await untilSeen(resumed, posted.length - 2);
    expect(tasks(resumed)).toEqual(posted.slice(2));
    const later = await Events.open(served, "/events", afterMidnight);
    await untilSeen(later, posted.length - 5);
    expect(tasks(later)).toEqual(posted.slice(5));

    const lines = (day: string) =>
      readFileSync(join(folder, `run/ledger/${day}.jsonl`), "utf8")
        .split("\n")
        .filter(Boolean);
    const idsOn = (day: string) =>
      lines(day).flatMap((line) => {
        const { event, task } = JSON.parse(line) as { event: string; task: string };
        return event === "enqueued" ? [task] : [];
      });
    expect(idsOn(BEFORE)).toEqual(["a", "b", "c"]);
    expect(idsOn(AFTER)).toEqual(posted.slice(3));
    expect(viv(["ledger", "verify"], around)).toMatchObject({ status: 0 });
    server.child.kill("SIGTERM");
    expect((await server.end()).status).toBe(0);
  },
);
