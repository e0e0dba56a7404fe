import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDevServer } from "../../web/dev/server.mjs";
import { DESK, expectAccessible, hasBrowser, openPage, PHONE, startBrowser } from "./browser.ts";

/** Every view with data, on a desk and on a phone, dark and light. */

let browser: Browser;
let server: Awaited<ReturnType<typeof startDevServer>>;
beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, server] = await Promise.all([startBrowser(), startDevServer({})]);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** What is there once its data is. */
const READY: Record<string, string> = {
  overview: ".needs li",
  board: "a.card:visible",
  "board?task=fix.204": ".task .side-part",
  fleet: "text=ada",
  warden: "text=Warrants",
  wire: ".wire-view a:visible, .wire-view [role=row]:visible, .wire-view li:visible",
  graph: "svg:visible",
  timeline: "main:visible",
  money: "main table:visible, main svg:visible, main canvas:visible",
  git: "main:visible",
  "task/fix.204": ".task .side-part",
};

describe.skipIf(!hasBrowser)("each view", () => {
  for (const [name, size] of [
    ["on a desk", DESK],
    ["on a phone", PHONE],
  ] as const) {
    test(`${name}: no error, nothing sideways, axe-core finds nothing, dark and light`, async () => {
      const { page, context, faults } = await openPage(browser, server.url, { size });
      page.on("console", (message) => {
        // A task without a log or an artifact: the page asks for it all the same.
        if (message.location().url.includes("/api/artifacts/")) return;
        if (message.type() === "error") faults.push(message.text());
      });
      for (const [view, ready] of Object.entries(READY)) {
        await page.goto(`${server.url}/#/${view}`);
        await page.locator(ready).first().waitFor();
        await page.waitForFunction(() => document.querySelector("main")?.textContent !== "");
        // 320 px: what a phone shows when its owner makes the text a fifth larger.
        for (const width of size === PHONE ? [320, size.width] : [size.width]) {
          await page.setViewportSize({ ...size, width });
          const wide = await page.evaluate(() => {
            const bar = document.querySelector(".top");
            const beside = bar === null ? 0 : bar.scrollWidth - bar.clientWidth;
            return Math.max(beside, document.documentElement.scrollWidth - innerWidth);
          });
          expect.soft(wide, `${view} scrolls sideways at ${width} px`).toBeLessThanOrEqual(0);
        }
        // Only its parts scroll: else the focus can move the whole page away.
        const long = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
        expect.soft(long, `${view} ${name} is longer than the window`).toBeLessThanOrEqual(0);
        // The board of an open task shows its column.
        if (!view.includes("task=")) {
          const scrolled = await page.evaluate(() =>
            [...document.querySelectorAll("main *")].flatMap((one) =>
              one.scrollLeft > 0 ? [one.className] : [],
            ),
          );
          expect.soft(scrolled, `${view} ${name} does not begin at its left edge`).toEqual([]);
        }
        await page.emulateMedia({ colorScheme: "dark" });
        await expectAccessible(page, `${view} ${name}, dark`);
        await page.emulateMedia({ colorScheme: "light" });
        await expectAccessible(page, `${view} ${name}, light`, ["color-contrast"]);
        expect(faults.splice(0), `${view} ${name}`).toEqual([]);
      }
      await context.close();
    }, 120_000);
  }

  test("the graph leaves out names that are too small to read, until it is zoomed", async () => {
    const { graph } = server.operations;
    const column = (at: number) => Array.from({ length: 50 }, (_, n) => `fix.${at * 50 + n}`);
    const ids = Array.from({ length: 10 }, (_, at) => column(at));
    const nodes = ids.flat().map((id) => ({ id, type: "fix", column: "done", title: "" }));
    const edges = ids.slice(1).flatMap((of, at) => of.map((id) => [ids[at]?.[25], id]));
    server.operations.graph = () => ({ nodes, edges, more: 0 });
    const { page, context } = await openPage(browser, `${server.url}/#/graph`);
    const node = page.locator(".node", { hasText: "fix.25" }).first();
    await node.waitFor();
    expect(await node.locator("text").isVisible()).toBe(false);
    expect(await node.getAttribute("aria-label")).toBe("fix.25, Done");
    const drawn = await page.locator(".canvas > svg > g").boundingBox();
    const box = await page.locator(".canvas").boundingBox();
    expect(drawn?.height).toBeLessThan(box?.height ?? 0);
    expect(drawn?.width).toBeLessThan(box?.width ?? 0);
    for (let press = 0; press < 5; press++) await page.keyboard.press("+");
    await node.locator("text").waitFor();
    server.operations.graph = graph;
    await context.close();
  });

  test("the fleet shows what a worker does in a window of any width", async () => {
    const { page, context } = await openPage(browser, `${server.url}/#/fleet`);
    const doing = page.locator("td.doing").first();
    await doing.waitFor();
    for (const width of [390, 761, 768, 900, 1000, 1001, 1181, 1281, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect.soft((await doing.boundingBox())?.width, `${width} px`).toBeGreaterThan(200);
    }
    await context.close();
  });

  test("the wire keeps the task beside a worker with a long name, also on a phone", async () => {
    const ledger = server.operations["ledger show"];
    const at = new Date().toISOString();
    const line = { at, event: "claimed", task: "fix.1", worker: "the-quick-brown-fox-".repeat(4) };
    server.operations["ledger show"] = () => ({ ...ledger({}), lines: [line] });
    const { page, context } = await openPage(browser, `${server.url}/#/wire`, { size: PHONE });
    const task = page.locator(".wire li a", { hasText: "fix.1" });
    await task.waitFor();
    const shown = await task.evaluate(({ parentElement: cell }) => {
      return (cell?.clientWidth ?? 0) >= (cell?.scrollWidth ?? 1);
    });
    expect(shown).toBe(true);
    server.operations["ledger show"] = ledger;
    await context.close();
  });

  test("j and k move over the lines of the wire, Enter opens the task; ? lists them", async () => {
    const { page, context } = await openPage(browser, `${server.url}/#/wire`);
    const lines = page.locator(".wire li");
    await lines.first().waitFor();
    const focused = page.locator(".wire li:focus");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const second = (await lines.nth(1).textContent()) ?? "";
    expect(await focused.textContent()).toBe(second);
    await page.keyboard.press("k");
    expect(await focused.textContent()).toBe(await lines.first().textContent());
    // What comes meanwhile does not take the line away.
    server.tell("ledger", { at: new Date().toISOString(), event: "claimed", task: "fix.999" });
    await page.locator(".wire li a", { hasText: "fix.999" }).waitFor();
    await page.keyboard.press("j");
    expect(await focused.textContent()).toBe(second);
    await page.keyboard.press("?");
    await page.locator(".keys div", { hasText: "Next line" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    const drawer = page.getByRole("complementary");
    const task = await focused.locator("a").textContent();
    await drawer
      .getByText(task ?? "?")
      .first()
      .waitFor();
    const entries = await page.evaluate(() => history.length);
    await page.keyboard.press("j");
    const next = await focused.locator("a").textContent();
    expect(next).not.toBe(task);
    await drawer
      .getByText(next ?? "?")
      .first()
      .waitFor();
    expect(await page.evaluate(() => history.length)).toBe(entries);
    await context.close();
  });

  test("Escape leaves the wire's filter, not the open task; the filter is cleared with a button", async () => {
    const { page, context } = await openPage(browser, `${server.url}/#/wire?task=fix.204`);
    const drawer = page.getByRole("complementary");
    await drawer.waitFor();
    const field = page.getByLabel("Filter events");
    await field.fill("ada");
    await page.keyboard.press("Escape");
    await page.waitForURL(/q=ada/);
    expect(await field.evaluate((one) => one === document.activeElement)).toBe(false);
    expect(page.url()).toContain("task=fix.204");
    await page.getByRole("button", { name: "Clear the filter" }).click();
    expect(await field.inputValue()).toBe("");
    await page.keyboard.press("/");
    await page.keyboard.type("bob");
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=bob/);
    await context.close();
  });

  test("on a phone, the next one of a task that was pressed in the wire is the line after it", async () => {
    const { page, context } = await openPage(browser, `${server.url}/#/wire`, { size: PHONE });
    const links = page.locator(".wire li a");
    await links.nth(2).click();
    const next = (await links.nth(3).textContent()) ?? "";
    await page.getByRole("button", { name: "The next one" }).click();
    await page.getByRole("complementary", { name: `Task ${next}`, exact: true }).waitFor();
    await context.close();
  });

  for (const [view, row, opened] of [
    ["fleet", ".fl tbody tr", ".drawer"],
    ["warden", ".receipts tbody tr", ".proof-of"],
    ["timeline?view=list", ".list-of tbody tr", ".drawer"],
    ["git", ".slip", ".toast"],
  ] as const) {
    test(`j and Enter open the first row of ${view}`, async () => {
      const { page, context } = await openPage(browser, `${server.url}/#/${view}`);
      await page.locator(row).first().waitFor();
      await page.keyboard.press("j");
      await page.locator(`${row}:focus`).waitFor();
      await page.keyboard.press("Enter");
      await page.locator(opened).waitFor();
      await context.close();
    });
  }

  test("a receipt opens with a click in its row, or by its address: questions, screens, processes", async () => {
    const { page, context, faults } = await openPage(browser, `${server.url}/#/warden`);
    const row = page.locator(".receipts tbody > tr:not(.proof)").first();
    await row.getByText("silent at 60").click();
    const id = (await row.getByRole("button").textContent()) ?? "";
    await page.waitForURL(`${server.url}/#/warden/${id}`);
    await page.reload();
    const proof = page.locator(".proof-of");
    await proof.getByText("1.", { exact: true }).waitFor();
    expect(await proof.locator("ol li").allTextContents()).toEqual([
      expect.stringMatching(/^1\.asked at .* in pane %3; 1m 00s to answersilent\d/),
      expect.stringMatching(/^2\.asked at .* in pane %3; 2m 00s to answersilent\d/),
      expect.stringMatching(/^3\.asked at .* in pane %3; 4m 00s to answersilent\d/),
    ]);
    await proof.getByText("Its screen after").click();
    await proof.getByText("> Warden health check").waitFor();
    await proof.getByText("gone ").first().waitFor();
    await row.getByText("agent-6").click();
    await page.waitForURL(`${server.url}/#/warden`);
    await proof.waitFor({ state: "detached" });
    // The list has the last 50.
    const receipts = server.operations["warden receipts"];
    server.operations["warden receipts"] = () => ({ ...receipts({}), receipts: [] });
    await page.goto(`${server.url}/#/warden/${id}`);
    await page.reload();
    await proof.getByText("agent-6 executed").waitFor();
    await page.goto(`${server.url}/#/warden/w-none`);
    await proof.getByText("there is no task w-none").waitFor();
    server.operations["warden receipts"] = receipts;
    expect(faults).toEqual([]);
    await context.close();
  });

  test("names of workers that differ only at their end are told apart where they are cut", async () => {
    const { fleet } = server.operations;
    const answer = fleet();
    const names = ["nightly-refactoring-of-billing-1", "nightly-refactoring-of-billing-2"];
    for (const [at, name] of names.entries()) {
      answer.workers[at].name = name;
      answer.gate.machine.holders[at].name = `worker:${name}`;
    }
    server.operations.fleet = () => answer;
    const { page, context } = await openPage(browser, `${server.url}/#/fleet`);
    for (const name of names) {
      // Read whole, as one word.
      await page.getByRole("cell", { name: new RegExp(`^${name} `) }).waitFor();
      for (const place of [".fl td", ".slot"]) {
        const shown = page.locator(`${place} [title="${name}"] > :last-child`);
        await shown.waitFor();
        const box = await shown.evaluate((end) => {
          const { right } = end.getBoundingClientRect();
          return { right, edge: end.closest("td, .slot")?.getBoundingClientRect().right ?? 0 };
        });
        expect(box.right, `${name} in ${place}`).toBeLessThanOrEqual(box.edge);
      }
    }
    server.operations.fleet = fleet;
    await context.close();
  });

  test("the strip of the timeline stands on the lanes below it: one time, one place", async () => {
    const { page, context } = await openPage(browser, `${server.url}/#/timeline`);
    await page.locator(".lanes svg").waitFor();
    const placesIn = (texts: string) =>
      page.locator(texts).evaluateAll((all) => {
        return all.map((one) => [one.textContent, one.getBoundingClientRect().x] as const);
      });
    const above = new Map(await placesIn(".mini svg > text"));
    const below = await placesIn(".lanes .grid + text");
    const both = below.filter(([time]) => above.has(time));
    expect(both.length).toBeGreaterThan(2);
    for (const [time, x] of both) expect(above.get(time), time ?? "").toBeCloseTo(x, 0);
    await context.close();
  });

  test("the overview shows where the warden ended an agent that has no lane", async () => {
    const { page, context } = await openPage(browser, server.url);
    const marks = page.locator(".night .killed");
    await marks.filter({ hasText: "agent-6 killed at" }).waitFor();
    expect(await marks.count()).toBe(2);
    await context.close();
  });

  test("the timeline speaks of a part that is chosen, and not by itself", async () => {
    const { page, context } = await openPage(browser, `${server.url}/#/timeline`);
    const spoken = page.locator("main [aria-live]");
    await spoken.waitFor({ state: "attached" });
    expect(await spoken.textContent()).toBe("");
    await page.keyboard.press("+");
    await spoken
      .filter({ hasText: /^([A-Z].{3,5}, )?\d\d:\d\d to .*\d\d:\d\d: \d+ done/ })
      .waitFor({ state: "attached" });
    await context.close();
  });

  test("a worker's row pauses and resumes it, where the server can", async () => {
    const { fleet } = server.operations;
    const answer = fleet();
    const [ada, bob, cyd] = answer.workers;
    ada.paused = null;
    bob.paused = { by: "pia", at: new Date().toISOString(), note: "too dear" };
    bob.doing = null;
    bob.held = "worker bob is paused by pia";
    delete cyd.paused;
    server.operations.fleet = () => answer;
    const { page, context } = await openPage(browser, `${server.url}/#/fleet`);
    await page.getByText("Paused by pia: too dear").waitFor();
    const eva = page.getByRole("row", { name: "eva" });
    await eva.getByText("Held", { exact: true }).waitFor();
    await eva.getByText("account gemini is closed until 08:15").waitFor();
    await page.getByRole("button", { name: "Pause ada", exact: true }).click();
    await page.locator(".toast", { hasText: "viv pause --worker ada" }).waitFor();
    await page.getByRole("button", { name: "Resume bob", exact: true }).click();
    await page.locator(".toast", { hasText: "viv resume --worker bob" }).waitFor();
    expect(server.posted.slice(-2)).toEqual([
      { name: "pause", input: { worker: "ada" } },
      { name: "resume", input: { worker: "bob" } },
    ]);
    expect(await page.getByRole("button", { name: /(Pause|Resume) cyd/ }).count()).toBe(0);
    server.operations.fleet = fleet;
    await context.close();
  });
});
