import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { actOn, ledgerOf } from "./acting.ts";
import { hasBrowser, startBrowser } from "./browser.ts";
import { fillWithAllStates, type Place, type ServedRun, serveNewRun } from "./served-run.ts";

/** Each action on a task, by hand, against a real server: what changes is on the disk. */

let browser: Browser;
let served: ServedRun;
let hands: Awaited<ReturnType<typeof actOn>>;

const ROUTE = `
[handlers.land]
handler = "./handle.sh"
workspace = "worktree"
repository = "repo"
`;
const git = (folder: string, ...args: string[]) =>
  execFileSync("git", ["-C", join(folder, "repo"), ...args], { encoding: "utf8" }).trim();

beforeAll(async () => {
  if (!hasBrowser) return;
  const fill = async (store: Store, place: Place) => {
    await fillWithBranches(store, place);
    await fillWithAllStates(store);
  };
  [browser, served] = await Promise.all([startBrowser(), serveNewRun(fill, ROUTE)]);
  hands = await actOn(browser, served);
});
afterAll(async () => {
  await browser?.close();
  await served?.end();
});

/** Work on branches of a repository, done or in review, as `viv work` leaves it. */
async function fillWithBranches(store: Store, { folder, viv }: Place): Promise<void> {
  mkdirSync(join(folder, "repo"));
  git(folder, "init", "-q", "--template=", "-b", "main");
  git(folder, "config", "user.name", "t");
  git(folder, "config", "user.email", "t@example.org");
  git(folder, "commit", "-q", "--allow-empty", "-m", "first");
  const script = '#!/bin/sh\ncd "$VIV_WORKSPACE" && echo "$VIV_TASK_ID" >"$VIV_TASK_ID.txt"\n';
  writeFileSync(join(folder, "handle.sh"), script, { mode: 0o755 });
  for (const id of ["clash.1", "land.1", "land.2", "land.3"]) {
    await store.enqueue({ id, type: "land", done_when: "true", review: id === "land.2" });
  }
  viv("work", "--drain");
}
/** The files of landed work. */
const landed = () => {
  const files = () => git(served.folder, "ls-tree", "--name-only", "viv/run").split("\n");
  return git(served.folder, "branch", "--list", "viv/run") === "" ? [] : files();
};

describe.skipIf(!hasBrowser)("an action on a task", () => {
  test("approves what is in review, without a question", async () => {
    await hands.openTask("review.1");
    await hands.inDrawer(/^Approve/);
    await hands.said("viv approve review.1");
    expect(existsSync(join(served.run, "done/review.1.json"))).toBe(true);
  });

  test("approves what is not proven only after a question, and records it", async () => {
    await hands.openTask("review.3");
    await hands.inDrawer(/^Approve/);
    await hands.page.getByRole("dialog", { name: "Approve review.3 without a proof?" }).waitFor();
    expect(await served.stateOf("review.3")).toBe("review");
    await hands.confirm("Approve unproven");
    await hands.said("viv approve review.3 --unproven");
    expect(existsSync(join(served.run, "done/review.3.json"))).toBe(true);
    expect(ledgerOf(served.run)).toContainEqual(
      expect.objectContaining({ event: "approved", task: "review.3", unproven: expect.anything() }),
    );
  });

  test("rejects with a note that the next attempt reads", async () => {
    const note = `round "away" from <b>zero</b>`;
    await hands.openTask("review.2");
    await hands.inDrawer(/^Reject/);
    await hands.fill("What must the next attempt do better?", note);
    await hands.confirm("Reject");
    await hands.reaches("review.2", "pending");
    expect(ledgerOf(served.run)).toContainEqual(
      expect.objectContaining({ event: "rejected", task: "review.2", note }),
    );
    const row = hands.page.locator(".drawer .attempt", { hasText: "sent back by " });
    await row.getByText(`: ${note}`).waitFor();
  });

  test("retries what failed", async () => {
    await hands.openTask("failed.1");
    await hands.inDrawer(/^Retry/);
    // Left with Escape, the question gives the focus back to its button.
    await hands.page.getByRole("dialog", { name: "Retry failed.1" }).waitFor();
    await hands.page.keyboard.press("Escape");
    await hands.page.locator(".acts button:focus", { hasText: "Retry" }).waitFor();
    await hands.inDrawer(/^Retry/);
    await hands.confirm("Retry");
    await hands.said("viv retry failed.1");
    await hands.reaches("failed.1", "pending");
    await hands.page.locator(".drawer .attempt", { hasText: "tried again by " }).waitFor();
  });

  test("releases a claim", async () => {
    await hands.openTask("working.1");
    await hands.inDrawer(/^Release/);
    await hands.confirm("Release");
    await hands.reaches("working.1", "pending");
    expect(existsSync(join(served.run, "claimed/bob/working.1.json"))).toBe(false);
  });

  test("cancels", async () => {
    await hands.openTask("ready.2");
    await hands.inDrawer(/^Cancel/);
    await hands.confirm("Cancel the task");
    const isCancelled = async () => (await served.store.show("ready.2"))?.cancelled === true;
    await until("it is cancelled", isCancelled);
    // The board says so without being asked.
    await hands.page.locator('[data-column="failed"] .card', { hasText: "ready.2" }).waitFor();
  });

  test("merges its branch", async () => {
    expect(landed()).toEqual([]);
    await hands.openTask("land.1");
    await hands.inDrawer(/^Merge/);
    await hands.said("land.1 landed in viv/run as ");
    await hands.said("viv merge land.1");
    expect(landed()).toEqual(["land.1.txt"]);
  });

  test("approves and merges", async () => {
    await hands.openTask("land.2");
    await hands.inDrawer(/^Approve and merge/);
    await hands.said("land.2 landed in viv/run as ");
    await hands.said("viv merge land.2");
    expect(existsSync(join(served.run, "done/land.2.json"))).toBe(true);
    expect(landed()).toEqual(["land.1.txt", "land.2.txt"]);
  });

  test("says that a merge met a conflict, and not that it landed", async () => {
    git(served.folder, "worktree", "add", "-q", "../aside", "viv/run");
    writeFileSync(join(served.folder, "aside/clash.1.txt"), "another\n");
    execFileSync("git", ["-C", join(served.folder, "aside"), "add", "."]);
    execFileSync("git", ["-C", join(served.folder, "aside"), "commit", "-qm", "another"]);
    git(served.folder, "worktree", "remove", "../aside");
    await hands.openTask("clash.1");
    await hands.inDrawer(/^Merge/);
    await hands.page
      .locator(".toast.is-bad", { hasText: /^clash\.1: sent back, .*conflict/ })
      .waitFor();
    await hands.page.locator(".toast.is-bad button").last().click();
  });

  test("retries it from the graph", async () => {
    await served.store.enqueue({ id: "after.2", type: "fix", depends_on: ["failed.2"] });
    await hands.toView("Graph");
    await hands.page.locator("[data-node='failed.2']").first().click();
    await hands.page.getByRole("region", { name: "The task failed.2" }).waitFor();
    await hands.press("Retry");
    await hands.reaches("failed.2", "pending");
  });
});

describe.skipIf(!hasBrowser)("an action of the palette", () => {
  const paused = () => existsSync(join(served.run, "paused.json"));

  test("pauses and resumes the run", async () => {
    await hands.toView("Board");
    await hands.choose("Pause the run");
    await until("it is paused", paused);
    await hands.choose("Resume the run");
    await until("it goes on", () => !paused());
  });

  test("merges all done work", async () => {
    await hands.choose("Merge all done work");
    await hands.said("viv merge --all");
    expect(landed()).toEqual(["clash.1.txt", "land.1.txt", "land.2.txt", "land.3.txt"]);
  });

  test("did all that without an error in the page", () => {
    expect(hands.faults).toEqual([]);
  });
});
