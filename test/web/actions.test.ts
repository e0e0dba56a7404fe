import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { hasBrowser, openPage, startBrowser } from "./browser.ts";
import { fillWithAllStates, type ServedRun, serveNewRun } from "./served-run.ts";

/** Each action of the page, by hand, against a real server: what changes is on the disk. */

let browser: Browser;
let served: ServedRun;
let page: Page;
let faults: string[];

beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, served] = await Promise.all([startBrowser(), serveNewRun(fillWithAllStates)]);
  ({ page, faults } = await openPage(browser, served.loginLink()));
  await page.waitForURL(/\/#?/);
});
afterAll(async () => {
  await browser?.close();
  await served?.end();
});

const openTask = async (id: string) => {
  await page.goto(`${served.address}/#/board?task=${id}`);
  await drawer().getByText(id).first().waitFor();
};
const drawer = () => page.getByRole("complementary");
const press = (name: string | RegExp) => drawer().getByRole("button", { name }).first().click();
const confirm = (name: string) => page.getByRole("dialog").getByRole("button", { name }).click();
const reaches = (id: string, state: string) =>
  until(`${id} is ${state}`, async () => (await served.stateOf(id)) === state);
const ledger = () =>
  readdirSync(join(served.run, "ledger"))
    .map((name) => readFileSync(join(served.run, "ledger", name), "utf8"))
    .join("");

describe.skipIf(!hasBrowser)("an action on a task", () => {
  test("approves what is in review", async () => {
    await openTask("review.1");
    await press(/^Approve/);
    const asks = page.getByRole("dialog").getByRole("button", { name: "Approve unproven" });
    await until("it is approved, or asked about", async () => {
      if (await asks.isVisible()) await asks.click();
      return (await served.stateOf("review.1")) === "done";
    });
    expect(existsSync(join(served.run, "done/review.1.json"))).toBe(true);
  });

  test("rejects with a note that the next attempt reads", async () => {
    await openTask("review.2");
    await press(/^Reject/);
    await page
      .getByLabel("What must the next attempt do better?")
      .fill(`round "away" from <b>zero</b>`);
    await confirm("Reject");
    await reaches("review.2", "pending");
    expect(ledger()).toContain(`"note":"round \\"away\\" from <b>zero</b>"`);
  });

  test("retries what failed", async () => {
    await openTask("failed.1");
    await press(/^Retry/);
    await confirm("Retry");
    await reaches("failed.1", "pending");
  });

  test("releases a claim", async () => {
    await openTask("working.1");
    await press(/^Release/);
    await confirm("Release");
    await reaches("working.1", "pending");
    expect(existsSync(join(served.run, "claimed/bob/working.1.json"))).toBe(false);
  });

  test("cancels", async () => {
    await openTask("ready.2");
    await press(/^Cancel/);
    await confirm("Cancel the task");
    await until(
      "it is cancelled",
      async () => (await served.store.show("ready.2"))?.cancelled === true,
    );
    // The board says so without being asked.
    await page.locator('[data-column="failed"] .card', { hasText: "ready.2" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("an action on the fleet", () => {
  const toFleet = async () => {
    await page.goto(`${served.address}/#/fleet`);
    await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
  };

  test("pauses and resumes the run", async () => {
    await toFleet();
    await page.getByRole("button", { name: "Pause claims" }).click();
    await until("it is paused", () => existsSync(join(served.run, "paused.json")));
    await page.getByRole("button", { name: "Resume claims" }).click();
    await until("it goes on", () => !existsSync(join(served.run, "paused.json")));
  });

  test("sets the slots of the gate", async () => {
    await toFleet();
    const slots = page.getByRole("group", { name: "Slots of the gate" });
    await slots.getByRole("button", { name: "One slot fewer" }).click();
    await slots.getByRole("button", { name: "1", exact: true }).waitFor();
    await slots.getByRole("button", { name: "One slot more" }).click();
    await slots.getByRole("button", { name: "2", exact: true }).waitFor();
    const files = readdirSync(join(served.folder, "state"), { recursive: true }).map(String);
    expect(files.join(" ")).toContain("gate");
  });

  test("runs, pauses and resumes a schedule", async () => {
    await toFleet();
    await page.getByRole("button", { name: "Run nightly now" }).click();
    await until("its task is there", () =>
      readdirSync(join(served.run, "pending")).some((name) => name.startsWith("nightly.run.")),
    );
    const file = join(served.run, "schedules.json");
    const paused = () => existsSync(file) && readFileSync(file, "utf8").includes('"paused"');
    await page.getByRole("button", { name: "Pause nightly" }).click();
    await until("it is paused", paused);
    await page.getByRole("button", { name: "Resume nightly" }).click();
    await until("it goes on", () => !paused());
  });

  test("files a warrant, and withdraws it; pauses the pool", async () => {
    await page.goto(`${served.address}/#/warden`);
    await page
      .getByRole("button", { name: /File a warrant/ })
      .first()
      .click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Suspect").selectOption("worker");
    await form.getByLabel("Name").fill("cyd");
    await form.getByLabel("Reason, for the receipt").fill("no_progress");
    await form.getByRole("button", { name: "File it" }).click();
    const warrants = () =>
      readdirSync(join(served.folder, "state"), { recursive: true })
        .map(String)
        .filter((name) => /warrants\/[^/]+\.json$/.test(name));
    await until("it is filed", () => warrants().length === 1);
    await page
      .getByRole("button", { name: /^Withdraw/ })
      .first()
      .click();
    await until("it is withdrawn", () => warrants().length === 0);
    await page.getByRole("button", { name: "Pause pool" }).click();
    await confirm("Pause");
    await page.getByRole("button", { name: "Resume pool" }).click();
    await page.getByRole("button", { name: "Pause pool" }).waitFor();
  });

  test("did all that without an error in the page", () => {
    expect(faults).toEqual([]);
  });
});
