import { spawn } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { ended, killed, Pit } from "../pit/support.ts";
import { until } from "../support/deadline.ts";
import { chooseSeed, seeded } from "../support/random.ts";

/** Snakes that are killed around the end of their work, again and again. */

const WATCHER = fileURLToPath(new URL("../pit/watcher.mjs", import.meta.url));

function watcher(pit: Pit) {
  const child = spawn(process.execPath, [WATCHER, pit.dir], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const lines = () =>
    said
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { child, lines };
}

/**
 * Killed between the rename and the line of a claim, a worker has left one that looks made by hand, and
 * its name is refused for as long as a person may take. Then a person puts the food back.
 */
function putBack(pit: Pit): void {
  const claims = pit.names("claimed");
  expect(claims).not.toEqual([]);
  for (const name of claims) {
    renameSync(pit.path("claimed", name), pit.path("food", name.replace(/^w-\d+\./, "")));
  }
}

test("kill -9 at random around completion: no done food without its result, nothing lost or done twice", async () => {
  const random = seeded(chooseSeed("kill -9 in a pit"));
  const pit = await Pit.make();
  const ids: string[] = [];
  for (let n = 0; n < 24; n++) ids.push(await pit.toss(`n${n}`, "--done-when", "true"));
  const handler = pit.script(
    "h.sh",
    'echo "$VIV_TASK_ID" >> "$H/ate"; printf "words\\nEND\\n" > "$VIV_RESULT"',
  );
  const { child, lines } = watcher(pit);
  await until("the watcher watches", () => lines().length > 0);
  const done = () => pit.names("done").filter((name) => !name.endsWith(".result.md"));

  for (let round = 0; round < 10 && done().length < ids.length; round++) {
    const had = pit.lines("ate").length;
    const worker = pit.work(handler, "--worker-id", "w", "--concurrency", "2");
    const more = Math.floor(random() * 3);
    const isOver = () => done().length === ids.length;
    const isRefused = () => worker.exitCode !== null;
    const isEaten = () => pit.lines("ate").length > had + more || isOver();
    await until("some were eaten", () => isEaten() || isRefused());
    if (isRefused() && !isOver()) putBack(pit);
    // Anywhere between the handler and the next claim.
    await new Promise((go) => setTimeout(go, random() * 40));
    await killed(worker);
    nothingIsLost(pit, ids);
  }
  expect(await ended(pit.work(handler, "--drain"))).toBe(0);
  child.stdin.end();
  await ended(child);
  expect(lines()).toEqual([{ ready: true }, { looks: expect.any(Number) }]);

  nothingIsLost(pit, ids);
  expect(done()).toEqual(ids.map((id) => `${id}.md`));
  const counts = new Map<string, number>();
  for (const id of pit.lines("ate")) counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const id of ids) {
    const own = pit.ledger().filter(({ task }) => task === id);
    const finished = own.findIndex(({ event, outcome }) => event === "ended" && outcome === "done");
    expect(finished, id).toBeGreaterThan(-1);
    const after = own.slice(finished + 1).map(({ event }) => event);
    expect(after, `${id} was done, and then`).toEqual([]);
    // Whoever was killed in the middle had no end; everybody else had one.
    const given = own.filter(({ event, outcome }) => event === "ended" && outcome === "abandoned");
    expect(counts.get(id), id).toBeLessThanOrEqual(1 + given.length);
  }
  expect(await pit.findings("torn_line")).toEqual([]);
});

const FOLDERS = ["food", "claimed", "done", "resting/later", "resting/stuck", "resting/review"];

function nothingIsLost(pit: Pit, ids: readonly string[]): void {
  const all = FOLDERS.flatMap((folder) => pit.names(folder).map((name) => `${folder}/${name}`));
  for (const id of ids) {
    const places = all.filter((path) => path.endsWith(`/${id}.md`) || path.endsWith(`.${id}.md`));
    expect(places, id).toHaveLength(1);
    const [place = ""] = places;
    if (!place.startsWith("done/")) continue;
    expect(readFileSync(pit.path(`done/${id}.result.md`), "utf8")).toMatch(/END\n$/);
  }
}
