import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { signal as sendSignal } from "../../platform/processes/end-processes.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { TaskSpec } from "../../queue/spec.ts";
import type { Store } from "../../queue/store.ts";
import { type Moments, taskLink } from "./moments.ts";
import { accuse, lookAtVerdicts } from "./suspects.ts";
import type { World } from "./world.ts";

const SHELF = { type: "build", goal: "Restock", priority: "low" as const };

/** A task of the chain, of the failing proof, of the conflict, for the kill, for the person. */
const TASKS = {
  first: [
    { id: "shop.plan", type: "plan", goal: "Plan the discount" },
    { id: "shop.tax", type: "build", goal: "Charge the tax" },
    { id: "shop.tip", type: "build", goal: "Offer a tip" },
    { id: "shop.discount", type: "build", goal: "Add the discount", depends_on: ["shop.plan"] },
    { id: "shop.receipt", type: "build", goal: "Print the receipt", depends_on: ["shop.discount"] },
    {
      ...{ id: "shop.round", type: "build", goal: "Round to whole cents" },
      done_when: "node round.check.mjs",
    },
  ],
  /** So that the board has more than one story, and the graph a fan. */
  shelves: [
    ...["shelf.1", "shelf.2", "shelf.3", "shelf.4"].map((id) => ({ ...SHELF, id })),
    { ...SHELF, id: "shelf.all", depends_on: ["shelf.1", "shelf.2", "shelf.3", "shelf.4"] },
  ],
  victim: [
    { id: "shop.audit", type: "audit", goal: "Audit every price", priority: "high" as const },
  ],
  review: [{ id: "shop.name", type: "build", goal: "Rename the shop", review: true }],
};

/** For the newsroom, one after the other: its desks work on several at a time. */
const STORIES = [
  "the glass house — a shop with agents",
  "ten per cent — a discount, with a test",
  "half a cent — how the shop rounds now",
  "both rates — a conflict, and its end",
  "four shelves — no price below cost",
  "the deaf agent — asked twice, then ended",
];
const STORY_EVERY_S = 8;

const LOOK_MS = 400;
/** After the story: at most so many more, so far apart. */
const MORE_TASKS = 150;
const MORE_EVERY_S = 25;

interface Stage {
  store: Store;
  world: World;
  moments: Moments;
  pace: number;
  signal: AbortSignal;
}

/** Gives the fleet its work, kills one worker, accuses two agents, and tells what happens. */
export async function direct(stage: Stage): Promise<void> {
  const { world, store, moments, signal } = stage;
  const unfollow = follow(stage);
  const beside = [lookAround(stage), openStories(stage)];
  try {
    await enqueue(store, TASKS.first);
    await enqueue(store, TASKS.shelves);
    await world.viv("pit", "toss", "count the shelves", "--pit", "pit");
    await until(stage, () => moments.has("landed") && moments.has("conflict"), 30);
    await enqueue(store, TASKS.victim);
    await killWorker(stage, "shop.audit");
    await until(stage, () => moments.has("taken_back"), 10);
    await enqueue(store, TASKS.review);
    await until(stage, () => moments.has("recovered"), 30);
    if (world.tmux !== null) await accuse(world, moments);
    await until(stage, () => moments.missing.length === 0, 60 / Math.min(1, stage.pace));
    const rest = moments.missing;
    moments.tell(
      "seen",
      rest.length === 0
        ? "that was all of it; approve shop.name if you like, and look around: a little work goes on"
        : `that was the tour, without ${rest.join(", ")}; a little work goes on`,
      "overview",
      "viv report",
    );
    await goOn(stage);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    unfollow();
    await Promise.all(beside);
  }
}

async function enqueue(
  store: Store,
  tasks: readonly (TaskSpec & { goal: string })[],
): Promise<void> {
  for (const { goal, ...spec } of tasks) {
    await store.enqueue({ ...spec, payload: { title: goal, goal } });
  }
}

/** Seconds are those of the usual pace. */
async function until({ signal, pace }: Stage, isSo: () => boolean, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000 * pace;
  while (!isSo() && performance.now() < end) await sleep(100, undefined, { signal });
}

/** In the middle of a task; held still first, so that it cannot finish it between look and blow. */
async function killWorker(stage: Stage, task: string): Promise<void> {
  const { store, moments, pace, signal } = stage;
  const holder = async () => (await store.workers()).find(({ claims }) => claims.includes(task));
  let worker = await holder();
  for (let tries = 0; worker === undefined && tries < 600; tries++) {
    await sleep(100, undefined, { signal });
    worker = await holder();
  }
  await sleep(5000 * pace, undefined, { signal });
  const pid = worker?.identity?.pid;
  if (worker === undefined || pid === undefined) return;
  sendSignal(pid, "SIGSTOP");
  const isStillThere = (await holder())?.name === worker.name;
  sendSignal(pid, isStillThere ? "SIGKILL" : "SIGCONT");
  if (!isStillThere) return;
  moments.tell(
    "killed",
    `${worker.name} (pid ${pid}) got a kill -9, in the middle of ${task}`,
    "fleet",
    "viv ps",
  );
}

/** Moments that the ledger tells. */
function follow({ store, moments }: Stage): () => void {
  const conflicts = new Set<string>();
  const ledger = store.followLedger({ from: "end" });
  let reading = Promise.resolve();
  const read = async () => {
    for await (const { line } of ledger.news()) tellOf(line, moments, conflicts);
  };
  const end = ledger.onNews(() => {
    reading = reading.then(read).catch(() => {}); // a damaged line costs a caption
  });
  return end;
}

function tellOf(line: LedgerLine, moments: Moments, conflicts: Set<string>): void {
  const { event, task, worker = "a worker", outcome, to, attempt = 1 } = line;
  if (task === undefined) return;
  const tell = (key: Parameters<Moments["tell"]>[0], text: string, command = `viv show ${task}`) =>
    moments.tell(key, text, taskLink(task), command);
  if (event === "claimed")
    tell("claimed", `${worker} claimed ${task}: one rename, and it is its own`);
  if (event === "landed") {
    tell(
      "landed",
      `${task} landed: merged onto main, proven again there, and only then main moved`,
      `viv diff ${task}`,
    );
    if (conflicts.has(task))
      tell("resolved", `${task} solved the conflict in its worktree, and has landed`);
  }
  if (event === "conflict") {
    conflicts.add(task);
    tell(
      "conflict",
      `${task} conflicts with what landed before it: it goes back to its agent, with the conflict in its worktree`,
    );
  }
  if (event !== "ended") return;
  if (outcome === "unproven")
    tell(
      "unproven",
      `${task} says it is done, and its proof says it is not: it goes back with the evidence`,
      `viv why ${task}`,
    );
  if (outcome === "abandoned")
    tell("taken_back", `the reaper took ${task} back from ${worker}, which is gone`);
  if (to === "review")
    tell(
      "review",
      `${task} is proven and waits for you: approve it, or send it back with a note`,
      `viv approve ${task}`,
    );
  if (outcome !== "done") return;
  if (task === "shop.audit" && attempt > 1)
    tell(
      "recovered",
      `${worker} did ${task} in attempt ${attempt}: nothing was lost, nothing was done twice`,
    );
  if (line.proof !== "passed") return;
  tell("proven", `${task} is done, and proven: its done_when ran after the agent, and passed`);
  if (attempt > 1 && moments.has("unproven") && task === "shop.round")
    tell("mended", `${task} passed its proof at attempt ${attempt}`);
}

/** Moments that only files tell: the pit, the board, the warden. */
async function lookAround({ world, moments, signal }: Stage): Promise<void> {
  while (!signal.aborted) {
    const food = namesIn(join(world.fleet, "pit/done")).find((name) => name.endsWith(".result.md"));
    if (food)
      moments.tell(
        "eaten",
        "a snake of the pit digested its food: a Markdown file, moved from folder to folder",
        "fleet",
        "viv pit status pit",
      );
    const board = textOf(join(world.fleet, "board.org"));
    if (/^\*+ PUBLISHED /m.test(board)) {
      moments.tell(
        "published",
        "the newsroom published a story: three desks, one slot at their gate, every claim a commit",
        "git",
        "viv board ls",
      );
    }
    lookAtVerdicts(world, moments);
    if (moments.has("seen")) return;
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

async function openStories(stage: Stage): Promise<void> {
  for (const title of STORIES) {
    await openStory(stage, title);
    const ms = STORY_EVERY_S * 1000 * Math.max(stage.pace, 0.2);
    await sleep(ms, undefined, { signal: stage.signal }).catch(() => {});
    if (stage.signal.aborted) return;
  }
}

/** One less is no reason to stop. */
async function openStory({ world }: Stage, title: string): Promise<void> {
  await world.viv("board", "open", title, "--agent", "desk").catch(() => {});
}

/** A little work for as long as the demo runs, up to a limit. */
async function goOn(stage: Stage): Promise<void> {
  const { store, world, pace, signal } = stage;
  for (let n = 1; n <= MORE_TASKS; n++) {
    await sleep(MORE_EVERY_S * 1000 * Math.max(pace, 0.2), undefined, { signal });
    const goal = "Restock";
    const id = `stock.${String(n).padStart(3, "0")}`;
    await store.enqueue({ id, type: "build", payload: { title: `Restock shelf ${n}`, goal } });
    if (n % 2 === 0) await openStory(stage, `shelf ${n} — restocked`);
    if (n % 4 === 1) {
      await world.viv("pit", "toss", `count shelf ${n}`, "--pit", "pit").catch(() => {}); // as above
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not made yet
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // git is just replacing it
  }
}
