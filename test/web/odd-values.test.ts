import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startDevServer } from "../../web/dev/server.mjs";
import {
  expectAccessible,
  hasBrowser,
  type OpenOptions,
  openPage,
  PHONE,
  startBrowser,
} from "./browser.ts";

/** Long names, large and small numbers, nothing at all: no view is cut, covered or wrong. */

const LONG = "nightly-backfill-of-the-whole-ledger-".repeat(3);
const LAPTOP = { width: 1100, height: 700 };

let browser: Browser;
let server: Awaited<ReturnType<typeof startDevServer>>;
let usual: Record<string, unknown>;
beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, server] = await Promise.all([startBrowser(), startDevServer({})]);
  usual = { ...server.operations };
});
beforeEach(() => {
  if (server) Object.assign(server.operations, usual);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

const see = async (view: string, use: (page: Page) => Promise<void>, options?: OpenOptions) => {
  const { page, context, faults } = await openPage(browser, `${server.url}/#/${view}`, options);
  await use(page);
  expect(faults).toEqual([]);
  await context.close();
};

const boxOf = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((one) => one.getBoundingClientRect().toJSON() as DOMRect);

describe.skipIf(!hasBrowser)("odd values", () => {
  test("a long name of a run stays in its box", async () => {
    const session = server.operations.session();
    server.operations.session = () => ({
      ...session,
      ...{ run_id: LONG, run_dir: `/home/fleet/${LONG}` },
    });
    await see("board", async (page) => {
      await page.locator(".side .run b", { hasText: "nightly-backfill" }).waitFor();
      const side = await boxOf(page, ".side");
      for (const part of [".run > .row", ".run > bdi"]) {
        expect((await boxOf(page, part)).right, part).toBeLessThanOrEqual(side.right);
      }
    });
  });

  test("the lessons of an empty wire lie below each other", async () => {
    const empty = await startDevServer({ tasks: 0 });
    empty.operations.fleet = () => ({
      ...{ workers: [], crew: null, gate: null, parts: null, schedules: null },
    });
    empty.operations["ledger show"] = () => ({ lines: [], more: 0, notes: [] });
    const { page, context } = await openPage(browser, `${empty.url}/#/wire`);
    const lessons = page.locator(".teach li");
    await lessons.nth(1).waitFor();
    const boxes = await lessons.evaluateAll((all) =>
      all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect),
    );
    for (const [at, box] of boxes.slice(1).entries()) {
      expect(box.top).toBeGreaterThanOrEqual(boxes[at]?.bottom ?? 0);
    }
    await context.close();
    await empty.close();
  });

  test("a budget of 0 is used up, on the overview and in money", async () => {
    const budgets = [{ of: "day", unit: "usd", limit: 0, spent: 0 }];
    const { money, report } = server.operations;
    server.operations.money = () => ({ ...money(), budgets });
    server.operations.report = (query: { since?: string }) => {
      const answer = report(query);
      return { ...answer, cost: { ...answer.cost, budgets } };
    };
    await see("overview", async (page) => {
      await page.getByText("of $0.00").waitFor();
      await page.locator(".panel", { hasText: "Cost today" }).getByText("100%").waitFor();
    });
    await see("money", async (page) => {
      await page.getByText("of $0.00, 100%").waitFor();
    });
  });

  test("a long name of an agent or model hides no figure in money", async () => {
    const answer = server.operations.money();
    answer.by.worker[0].key = LONG;
    answer.by.model[0].key = LONG;
    server.operations.money = () => answer;
    await see("money", async (page) => {
      await page.locator(`[title="${LONG}"]`).nth(1).waitFor();
      const over = await page
        .locator(".cols-money .scroll-x")
        .evaluateAll((all) => all.map((one) => one.scrollWidth - one.clientWidth));
      expect(over).toEqual([0, 0]);
    });
  });

  test("of a gate with many slots the ones that are not drawn are counted", async () => {
    const { fleet } = server.operations;
    const holder = (n: number) => ({ name: `worker-${n}`, since: new Date().toISOString() });
    const holders = Array.from({ length: 40 }, (_, n) => holder(n));
    server.operations.fleet = () => ({
      ...fleet(),
      gate: { machine: { max: 40, holders, queue: [] } },
    });
    await see("fleet", async (page) => {
      await page.locator(".slots li", { hasText: "16 more" }).waitFor();
    });
  });

  test("why a part of viv up does not run stands in its row", async () => {
    const answer = server.operations.fleet();
    Object.assign(answer.parts.parts[4], { state: "parked", note: "crashed 5 times: exit 1" });
    server.operations.fleet = () => answer;
    await see("fleet", async (page) => {
      await page.getByRole("cell", { name: "crew crashed 5 times: exit 1", exact: true }).waitFor();
      await page.getByRole("cell", { name: "worker-1 worker", exact: true }).waitFor();
      await page.getByRole("cell", { name: "server", exact: true }).waitFor();
    });
  });

  test("on a small laptop, the sign of the overview has the count of what needs a person", async () => {
    await see(
      "board",
      async (page) => {
        await page.locator(".nav .count:visible", { hasText: /^7$/ }).waitFor();
        expect(await page.locator(".nav .count:visible").count()).toBe(1);
      },
      { size: LAPTOP },
    );
  });

  test("the command of a pause of the pool has the reason, as a shell takes it", async () => {
    await see("warden", async (page) => {
      await page.getByRole("button", { name: "Pause pool" }).click();
      await page.getByLabel("Why, for the record").fill("ask $HOME `first`");
      const command = "viv warden pause --note 'ask $HOME `first`'";
      await page.locator("dialog .cmd", { hasText: command }).waitFor();
      await page.getByRole("button", { name: "Pause", exact: true }).click();
      await page.locator(".toast .cmd", { hasText: command }).waitFor();
    });
  });

  test("the timeline of several days names the day: above it, on its axes and in its list", async () => {
    const DAY = 86_400_000;
    const now = Date.now();
    const at = (days: number) => new Date(now - days * DAY).toISOString();
    const spans = [6, 3, 0.1].map((days) => ({
      ...{ task: `fix.${days}`, from: at(days), to: at(days - 0.05), outcome: "done" },
      ...{ attempt: 1, again: false, count: 1 },
    }));
    server.operations.timeline = () => ({
      ...{ since: at(7), until: at(0), buckets: [], kills: [], closed: [] },
      lanes: [{ name: "ada", kind: "worker", spans }],
    });
    const day = /^[SMTWF]\w\w \d+, \d\d:\d\d/;
    await see("timeline?since=7d", async (page) => {
      await page.locator(".lanes svg").waitFor();
      expect(await page.locator(".top .t3").first().textContent()).toMatch(
        /^lanes per worker, [SMTWF]\w\w \d+, \d\d:\d\d to now$/,
      );
      for (const axis of [".mini svg", ".lanes svg"]) {
        const words = await page
          .locator(`${axis} > text, ${axis} > g > .grid + text`)
          .allTextContents();
        expect(words.filter((word) => /^[SMTWF]\w\w \d+/.test(word)).length, axis).toBeGreaterThan(
          4,
        );
      }
      await page.getByRole("button", { name: "List" }).click();
      const began = page.locator(".list-of tbody tr").last().locator("td").first();
      expect((await began.textContent())?.trim()).toMatch(day);
    });
  });

  test("a view that was opened without a connection comes with it", async () => {
    const first = await startDevServer({});
    const { page, context } = await openPage(browser, `${first.url}/#/board`);
    await page.locator(".card").first().waitFor();
    await first.close();
    await page.getByText("Connection lost").waitFor();
    await page.getByRole("link", { name: "Money" }).click();
    await page.getByText("This part of the page comes when the connection is back").waitFor();
    const again = await startDevServer({ port: first.port });
    await page.getByRole("table", { name: "Dollars per day" }).waitFor({ state: "attached" });
    await context.close();
    await again.close();
  });

  test("a server that says nothing any more, and does not answer, is said to be lost", async () => {
    const silent = await startDevServer({});
    const { page, context } = await openPage(browser, `${silent.url}/#/board?task=fix.204`, {
      clock: true,
    });
    await page.getByText(/^Live/).first().waitFor();
    await page.route("**/api/approve", () => {}); // never answered
    await page.getByRole("button", { name: /^Approve A/ }).click();
    await page.clock.fastForward(50_000);
    await page.getByText("Connection lost").waitFor();
    await page.clock.fastForward(20_000);
    await page.getByText("has not answered for a minute").waitFor();
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    await context.close();
    await silent.close();
  });

  test("what is not live has no colours, and text that can be read", async () => {
    const first = await startDevServer({});
    const { page, context } = await openPage(browser, `${first.url}/#/fleet`, { scheme: "light" });
    await page.getByRole("row", { name: "ada" }).waitFor();
    await first.close();
    await page.getByText("Connection lost").waitFor();
    await expectAccessible(page, "fleet, not connected", ["color-contrast"]);
    await context.close();
  });

  test("a proof without output has no empty line, and reasons are not counted from two", async () => {
    const show = server.operations.show;
    server.operations.show = ({ id }: { id: string }) => {
      const shown = show({ id });
      return { ...shown, proof: { ...shown.proof, output: "" } };
    };
    await see("task/fix.204", async (page) => {
      const proof = page.getByRole("region", { name: "Output of the proof" });
      await proof.waitFor();
      expect(await proof.locator(".line").allTextContents()).toEqual(["$ npm test -- refunds"]);
      expect(await page.locator(".why li bdi").textContent()).toMatch(/^done, not landed/);
      expect(await page.locator(".why li").textContent()).toMatch(/^done, not landed/);
    });
  });

  test("on a phone, a line of the wire without words stands in the middle of its row", async () => {
    const ledger = server.operations["ledger show"];
    const line = { at: new Date().toISOString(), room: "queue", event: "promoted", task: "fix.1" };
    server.operations["ledger show"] = () => ({ ...ledger({}), lines: [line] });
    const middle = (box: DOMRect) => box.top + box.height / 2;
    await see(
      "wire",
      async (page) => {
        await page.locator(".wire li a", { hasText: "fix.1" }).waitFor();
        const row = await boxOf(page, ".wire li");
        expect(Math.abs(middle(await boxOf(page, ".wire li time")) - middle(row))).toBeLessThan(2);
      },
      { size: PHONE },
    );
  });

  test("on a phone, a row of the wire, of attempts and of marks is pressed as a whole", async () => {
    for (const [view, row] of [
      ["wire", ".wire li:has(a)"],
      ["timeline?view=list", ".list-of tbody tr:has(a)"],
      ["timeline", ".marks li:has(a)"],
      ["fleet", ".fl .doing:has(a)"],
    ] as const) {
      await see(
        view,
        async (page) => {
          const first = page.locator(row).first();
          await first.waitFor();
          await first.click({ position: { x: 8, y: 4 } });
          await page.getByRole("complementary").waitFor();
        },
        { size: PHONE },
      );
    }
  });

  test("while a slow answer is read, the page says so", async () => {
    // A page without figures: they may have their answers before the routes below are there.
    const { page, context } = await openPage(browser, `${server.url}/docs`);
    let goOn = () => {};
    const held = new Promise<void>((release) => {
      goOn = release;
    });
    for (const path of ["money", "report", "fleet"]) {
      await page.route(new RegExp(`/api/${path}\\b`), async (route) => {
        await held;
        await route.continue();
      });
    }
    for (const view of ["money", "overview", "fleet"]) {
      await page.goto(`${server.url}/#/${view}`);
      await page.waitForFunction(() =>
        [...document.querySelectorAll(".main, .wrap")].some(
          (one) => getComputedStyle(one, "::before").content === '"Reading…"',
        ),
      );
    }
    goOn();
    await page.getByRole("row", { name: "ada" }).waitFor();
    await context.close();
  });
});
