import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EMPTY_FORM, fieldOf, specOf } from "../../web/src/views/new-task/task-form.ts";
import { shell } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { expectAccessible, hasBrowser, openPage, PHONE, startBrowser } from "./browser.ts";
import { type ServedRun, serveNewRun } from "./served-run.ts";

/** A task that is enqueued on the page. */

describe("what was typed", () => {
  const typed = (more: object) => specOf({ ...EMPTY_FORM, type: "fix", ...more });

  test("is the payload's goal, or the payload", () => {
    expect(typed({ what: " Add a README\n" }).input).toMatchObject({
      payload: { goal: "Add a README" },
    });
    expect(typed({ what: '{"a": [1]}' }).input).toMatchObject({ payload: { a: [1] } });
    expect(typed({ what: '{"a": ' }).wrong.what).toContain("not JSON");
    expect(typed({ what: "{}" })).toMatchObject({ input: { payload: {} }, wrong: {} });
  });

  test("says what is to be done", () => {
    expect(typed({ what: " \n" }).wrong.what).toContain("Say what is to be done");
  });

  test("is sent with a made id that may be there already, unless an id was typed", () => {
    const sent = (id: string) =>
      specOf({ ...EMPTY_FORM, type: "fix", what: "x", id }, "t.made").input;
    expect(sent(" ")).toMatchObject({ id: "t.made", if_absent: true });
    expect(sent("mine")).toMatchObject({ id: "mine", if_absent: undefined });
  });

  test("names several tasks to wait for", () => {
    expect(typed({ depends_on: " a.1, b.2 c.3 " }).input).toMatchObject({
      depends_on: ["a.1", "b.2", "c.3"],
    });
  });

  test("needs a type", () => {
    expect(Object.keys(typed({ type: " ", what: "x" }).wrong)).toEqual(["type"]);
  });

  test("is wrong at the field that the server means", () => {
    const form = { ...EMPTY_FORM, id: "a b" };
    const at = (code: string, message: string) => fieldOf(code, message, form);
    expect(at("TASK_EXISTS", "task a is there already")).toBe("id");
    expect(at("INVALID", 'task id "a b" may contain only letters')).toBe("id");
    expect(at("INVALID", 'task id "c d" may contain only letters')).toBe("depends_on");
    expect(at("INVALID", 'task type "x y" may contain only letters')).toBe("type");
    expect(at("INVALID", "payload is too large")).toBe("what");
    expect(at("DISK_FULL", "no space left")).toBeNull();
  });
});

let browser: Browser;
let served: ServedRun;

const ROUTES = `
[handlers.fix]
handler = "true"
[handlers."docs.write"]
handler = "true"
`;

beforeAll(async () => {
  if (!hasBrowser) return;
  const fill = async (store: ServedRun["store"]) => {
    await store.enqueue({ id: "first.1", type: "fix" });
  };
  [browser, served] = await Promise.all([startBrowser(), serveNewRun(fill, ROUTES)]);
});
afterAll(async () => {
  await browser?.close();
  await served?.end();
});

const dialogOf = (page: Page) => page.getByRole("dialog", { name: "New task" });
const taskIn = (folder: string, id: string) =>
  JSON.parse(readFileSync(join(served.run, folder, `${id}.json`), "utf8"));
const tasksWithGoal = (goal: string) =>
  readdirSync(join(served.run, "pending"))
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length))
    .filter((id) => taskIn("pending", id).payload?.goal === goal);

describe.skipIf(!hasBrowser)("a new task", () => {
  test("is enqueued with the keyboard alone, and its command does the same", async () => {
    const { page, context, faults } = await openPage(browser, served.loginLink());
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("n");
    await dialogOf(page).waitFor();
    const types = () =>
      page
        .locator("datalist option")
        .evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    await until("types are offered", async () => (await types()).length === 2);
    expect(await types()).toEqual(["fix", "docs.write"]);
    const goal = `It's "quoted"; $(touch x) <b>now</b>\nand a second line`;
    for (const text of [goal, "docs.write", "new.1", "first.1"]) {
      await page.keyboard.insertText(text);
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("h"); // the priority
    await page.keyboard.press("Tab");
    await page.keyboard.insertText("test -s README.md");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.keyboard.press("Enter");
    const toast = page.locator(".toast", { hasText: "new.1 is enqueued" });
    await toast.waitFor();
    await dialogOf(page).waitFor({ state: "detached" });
    const task = taskIn("waiting", "new.1");
    expect(task).toMatchObject({
      ...{ task_type: "docs.write", depends_on: ["first.1"], priority: "high", review: true },
      ...{ payload: { goal }, done_when: "test -s README.md" },
    });
    const command = (await toast.locator(".cmd").textContent()) ?? "";
    await toast.getByRole("button", { name: "Open" }).click();
    await page.waitForURL(/task=new\.1/);
    const again = command.replace("--id new.1", "--id new.2");
    const { folder } = served;
    const env = { VIV_STATE: join(folder, "state"), HOME: folder, USER: "ada" };
    expect(shell(again, { cwd: folder, env })).toMatchObject({ status: 0, stderr: "" });
    const { task_id, created_at, created_by, ...same } = task;
    expect(taskIn("waiting", "new.2")).toMatchObject(same);
    expect(faults).toEqual([]);
    await context.close();
  });

  test("that is refused says so at its field, and loses nothing", async () => {
    const { page, context } = await openPage(browser, served.loginLink());
    await page.getByRole("button", { name: "New task" }).first().click();
    const dialog = dialogOf(page);
    await dialog.getByLabel("What is to be done").fill("A goal");
    await dialog.getByLabel(/^Id/).fill("first.1");
    const enqueue = () => dialog.getByRole("button", { name: "Enqueue" }).click();
    await enqueue();
    await dialog.getByText("Which kind of work?").waitFor();
    await dialog.getByLabel("Type").fill("fix");
    await enqueue();
    await dialog.getByText("task first.1 is there already").waitFor();
    const id = dialog.getByLabel(/^Id/);
    expect(await id.getAttribute("aria-invalid")).toBe("true");
    expect(await id.evaluate((one) => one === document.activeElement)).toBe(true);
    await expectAccessible(page, "a refused task");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.insertText("New task");
    await page.keyboard.press("Enter");
    expect(await dialog.getByLabel("What is to be done").inputValue()).toBe("A goal");
    await id.fill("second.1");
    await enqueue();
    await dialog.waitFor({ state: "detached" });
    expect(taskIn("pending", "second.1").payload).toEqual({ goal: "A goal" });
    await context.close();
  });

  test("whose answer was lost is not made again, also not when it was changed", async () => {
    const { page, context } = await openPage(browser, served.loginLink());
    await page.getByRole("button", { name: "New task" }).first().click();
    const dialog = dialogOf(page);
    await dialog.getByLabel("Type").fill("fix");
    await page.route("**/api/enqueue", async (route) => {
      await route.fetch();
      await route.abort();
    });
    const enqueue = () => dialog.getByRole("button", { name: "Enqueue" }).click();
    await enqueue();
    await dialog.getByText("Say what is to be done").waitFor();
    await dialog.getByLabel("What is to be done").fill("Only once");
    await enqueue();
    await dialog.getByRole("alert").waitFor();
    expect(tasksWithGoal("Only once")).toHaveLength(1);
    await page.unroute("**/api/enqueue");
    await dialog.getByLabel("What is to be done").fill("Changed");
    await enqueue();
    await dialog.getByRole("alert").getByText("is enqueued already").waitFor();
    expect(tasksWithGoal("Changed")).toEqual([]);
    await enqueue();
    await dialog.waitFor({ state: "detached" });
    expect(tasksWithGoal("Changed")).toHaveLength(1);
    await context.close();
  });

  test("whose answer was lost is made once by two more presses at once", async () => {
    const { page, context } = await openPage(browser, served.loginLink());
    await page.getByRole("button", { name: "New task" }).first().click();
    const dialog = dialogOf(page);
    await dialog.getByLabel("Type").fill("fix");
    await dialog.getByLabel("What is to be done").fill("Twice pressed");
    let isLost = true;
    let asked = 0;
    await page.route("**/api/enqueue", async (route) => {
      asked++;
      if (!isLost) return route.continue();
      isLost = false;
      await route.fetch();
      await route.abort();
    });
    await dialog.getByRole("button", { name: "Enqueue" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.locator("form").evaluate((form: HTMLFormElement) => {
      form.requestSubmit();
      form.requestSubmit();
    });
    await dialog.waitFor({ state: "detached" });
    const [id, ...others] = tasksWithGoal("Twice pressed");
    expect([others, asked]).toEqual([[], 2]);
    const toast = page.locator(".toast", { hasText: `${id} is enqueued` });
    expect(await toast.locator(".cmd").textContent()).toContain(`--id ${id} `);
    await context.close();
  });

  test("works on a phone; without a login it says how to log in", async () => {
    const { page, context } = await openPage(browser, `${served.address}/#/board`, { size: PHONE });
    await page.getByRole("button", { name: "New task" }).click();
    const dialog = dialogOf(page);
    await dialog.getByLabel("Type").fill("fix");
    await dialog.getByLabel(/^Id/).fill("phone.1");
    await dialog.getByLabel("What is to be done").fill(`long ${"word".repeat(500)}`);
    const widths = await dialog.evaluate(
      (one) => one.scrollWidth <= one.clientWidth && one.getBoundingClientRect().right <= 390,
    );
    expect(widths).toBe(true);
    await expectAccessible(page, "a new task on a phone");
    await dialog.getByRole("button", { name: "Enqueue" }).click();
    await dialog.getByRole("alert").getByText("viv token --link").waitFor();
    expect(await dialog.getByLabel(/^Id/).inputValue()).toBe("phone.1");
    expect(readdirSync(join(served.run, "pending"))).not.toContain("phone.1.json");
    await context.close();
  });
});
