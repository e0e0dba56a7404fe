import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDevServer } from "../../web/dev/server.mjs";
import { until } from "../support/deadline.ts";
import { expectAccessible, hasBrowser, openPage, PHONE, startBrowser } from "./browser.ts";

/** The page in a real browser, with made-up answers of the contract (web/dev/). */

let browser: Browser;
beforeAll(async () => {
  if (hasBrowser) browser = await startBrowser();
});
afterAll(async () => browser?.close());

const withServer = async (
  options: Parameters<typeof startDevServer>[0],
  use: (server: Awaited<ReturnType<typeof startDevServer>>) => Promise<void>,
) => {
  const server = await startDevServer(options);
  try {
    await use(server);
  } finally {
    await server.close();
  }
};

describe.skipIf(!hasBrowser)("the page", () => {
  test("a board of 100,000 tasks has exact counts, and only what is seen in it", async () => {
    await withServer({ tasks: 100_000 }, async (server) => {
      const { page, context, faults } = await openPage(browser, `${server.url}/#/board`);
      const done = page.locator('[data-column="done"]');
      await done.locator(".card").first().waitFor();
      expect(await done.locator("header .n").textContent()).toBe("70,000");
      const row = 41_666;
      await done.locator(".scroll").evaluate((element, top) => {
        element.scrollTop = top;
      }, row * 72);
      const wanted = server.run.done[row + 3]?.id ?? "";
      await done.locator(".card", { hasText: wanted }).waitFor();
      expect(await done.locator("footer").textContent()).toMatch(/^41,667–41,67\d of 70,000/);
      expect(await page.locator(".card").count()).toBeLessThan(120);
      expect(faults).toEqual([]);
      await context.close();
    });
  });

  test("another filter begins at the top of every column, for the eye and for the keys", async () => {
    await withServer({ tasks: 10_000 }, async (server) => {
      const { page, context } = await openPage(browser, `${server.url}/#/board`);
      const columns = ["done", "ready"].map((name) => page.locator(`[data-column="${name}"]`));
      for (const column of columns) {
        await column.locator(".card").first().hover();
        await page.mouse.wheel(0, 60_000);
        await column.locator("footer", { hasText: /^[1-9]\d\d–/ }).waitFor();
        await column.locator(".card:not(.is-empty)").nth(8).focus();
      }
      await page.keyboard.press("/");
      await page.keyboard.type("type:fix");
      await page.getByText(/ of 10,000 tasks$/).waitFor();
      for (const column of columns) {
        await column.locator("footer", { hasText: /^1–/ }).waitFor();
        expect(await column.locator(".scroll").evaluate((one) => one.scrollTop)).toBe(0);
      }
      const newest = server.run.done.find(({ type }) => type === "fix")?.id ?? "";
      await page.locator('[data-column="done"] .card', { hasText: newest }).waitFor();
      await page.keyboard.press("Enter");
      await page.keyboard.press("j");
      await page.locator('[data-column="ready"] [data-index="0"]:focus').waitFor();
      await context.close();
    });
  });

  test("the filter and the open task are in the address; back goes back", async () => {
    await withServer({}, async (server) => {
      const { page, context } = await openPage(browser, `${server.url}/#/board`);
      await page.locator(".card").first().waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("type:fix rounding");
      await page.waitForURL(/filter=type%3Afix\+rounding/);
      await page.getByText(/^\d+ of 412 tasks$/).waitFor();
      await page.locator(".card", { hasText: "Fix rounding" }).first().click();
      const drawer = page.getByRole("complementary");
      await drawer.getByRole("heading", { level: 2, name: /Fix rounding/ }).waitFor();
      expect(page.url()).toContain("task=fix.");
      await page.goBack();
      await drawer.waitFor({ state: "detached" });
      expect(page.url()).toContain("filter=");
      await page.reload();
      expect(await page.getByLabel("Filter tasks").inputValue()).toBe("type:fix rounding");
      await context.close();
    });
  });

  test("keys move over the board, open a task and act on it; the toast teaches the command", async () => {
    await withServer({}, async (server) => {
      const { page, context, faults } = await openPage(browser, `${server.url}/#/board`);
      await page.locator('[data-column="review"] .card').first().waitFor();
      await page.keyboard.press("j");
      await page.locator(".card:focus", { hasText: "fix.204" }).waitFor();
      await page.keyboard.press("Enter");
      const drawer = page.getByRole("complementary");
      await drawer.getByText("a person must approve it", { exact: false }).waitFor();
      await page.keyboard.press("j");
      await drawer
        .getByText(server.run.review[1]?.id ?? "")
        .first()
        .waitFor();
      await page.keyboard.press("k");
      await drawer.getByText("fix.204").first().waitFor();
      await page.keyboard.press("r");
      await page.getByLabel("What must the next attempt do better?").fill("round away from zero");
      await page.getByRole("button", { name: "Reject", exact: true }).click();
      const toast = page.getByRole("status").filter({ hasText: "sent back" });
      await toast.getByText("viv reject fix.204 --note 'round away from zero'").waitFor();
      expect(server.posted).toEqual([
        { name: "reject", input: { ids: ["fix.204"], note: "round away from zero" } },
      ]);
      await page.keyboard.press("Escape");
      await drawer.waitFor({ state: "detached" });
      expect(faults).toEqual([]);
      await context.close();
    });
  });

  test("a board without reviews begins where tasks are, with the keys and on a phone", async () => {
    await withServer({}, async (server) => {
      server.run.review.length = 0;
      server.run.waiting.length = 0;
      const desk = await openPage(browser, `${server.url}/#/board`);
      await desk.page.locator('[data-column="ready"] .card').first().waitFor();
      await desk.page.keyboard.press("j");
      await desk.page.locator('[data-column="ready"] .card:focus').waitFor();
      await desk.context.close();
      const phone = await openPage(browser, `${server.url}/#/board`, { size: PHONE });
      await phone.page.locator('[data-column="working"] .card').first().waitFor();
      await phone.context.close();
    });
  });

  test("a column under the pointer keeps still and counts what came", async () => {
    await withServer({}, async (server) => {
      const { page, context } = await openPage(browser, `${server.url}/#/board`);
      const done = page.locator('[data-column="done"]');
      const first = server.run.done[0]?.id ?? "";
      await done.locator(".card", { hasText: first }).hover();
      server.move("port.131", "done");
      await done.getByRole("button", { name: "1 new" }).waitFor();
      expect(await done.locator(".card").first().textContent()).toContain(first);
      await page.getByRole("heading", { level: 1 }).hover();
      await done.locator(".card", { hasText: "port.131" }).waitFor();
      await context.close();
    });
  });

  test("a lost connection is said, and heals with what happened meanwhile", async () => {
    await withServer({}, async (server) => {
      const { page, context } = await openPage(browser, `${server.url}/#/board`);
      await page.locator('[data-column="working"] .card', { hasText: "port.131" }).waitFor();
      await server.close();
      await page.getByText("Connection lost").waitFor();
      expect(await page.locator('[data-column="working"] .card').count()).toBe(4);
      await withServer({ port: server.port }, async (again) => {
        again.move("port.131", "done");
        await page.getByText("Connection lost").waitFor({ state: "detached" });
        await page.locator('[data-column="done"] .card', { hasText: "port.131" }).waitFor();
      });
      await context.close();
    });
  });

  test("the sentence of a working task goes on with the time, though nothing happens", async () => {
    await withServer({}, async (server) => {
      const why = server.operations.why({ id: "port.131" });
      let asked = 0;
      server.operations.why = () => {
        const text = `ada has been working on it for ${++asked}s`;
        return { ...why, reasons: [{ code: "running", text }] };
      };
      const { page, context } = await openPage(browser, "about:blank");
      await page.clock.install();
      await page.goto(`${server.url}/#/task/port.131`);
      const sentence = page.locator(".why .first b");
      await sentence.getByText(/for \ds/).waitFor();
      await until("it was asked for again and again", async () => {
        await page.clock.fastForward(10_000);
        return asked > 5;
      });
      await sentence.getByText(/for ([6-9]|\d\d)s/).waitFor();
      await context.close();
    });
  });

  test("without a login, a change says how to log in", async () => {
    await withServer({ mayChange: false }, async (server) => {
      const { page, context } = await openPage(browser, `${server.url}/#/board?task=fix.204`);
      await page.getByRole("button", { name: /^Approve A/ }).click();
      await page.getByText("To change anything, log in").waitFor();
      expect(server.posted).toEqual([]);
      await context.close();
    });
  });

  test("a hostile task does no harm", async () => {
    await withServer({}, async (server) => {
      const script = "<img src=x onerror=alert(1)><script>alert(1)</script>";
      const card = server.find("fix.204");
      const title = `${script} \u202Ereversed "quotes' & more`;
      Object.assign(card, { title, worker: script, type: script, fact: script });
      server.logs.set(
        "fix.204",
        `\u001b]0;x\u0007\u001b[31m${script}\u001b[0m${"x".repeat(300_000)}`,
      );
      server.artifacts.set(
        "fix.204.md",
        `${script}\n\n[press](javascript:alert(1)) ![](http://127.0.0.1:9/pixel.png)\n\n${"[".repeat(30_000)}`,
      );
      const shown = server.operations.show({ id: "fix.204" });
      card.show = {
        ...shown,
        task: { ...shown.task, payload: { title, huge: "y".repeat(5_000_000) }, done_when: script },
        history: [
          {
            attempt: 1,
            worker: script,
            outcome: "failed",
            at: card.since,
            note: `${script}\n\u202E${script}`,
            token: "t",
            to: "failed",
          },
        ],
      };
      const asked: string[] = [];
      const { page, context, faults } = await openPage(
        browser,
        `${server.url}/#/board?task=fix.204`,
      );
      page.on("request", (request) => asked.push(request.url()));
      const drawer = page.getByRole("complementary");
      await drawer.getByText("Artifact").waitFor();
      await drawer.getByText("Log").first().waitFor();
      await drawer.getByText("Payload").click();
      await drawer.getByText(/MB more$/).waitFor();
      expect(await page.locator("script, img, iframe, object, embed").count()).toBe(1);
      expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
      expect(await drawer.getByRole("heading", { level: 2 }).first().textContent()).toContain(
        "‹202E›",
      );
      expect(asked.filter((url) => !url.startsWith(server.url))).toEqual([]);
      expect(faults).toEqual([]);
      await context.close();
    });
  });

  test("the palette finds views, tasks and actions; ? lists the keys", async () => {
    await withServer({}, async (server) => {
      const { page, context } = await openPage(browser, server.url);
      await page.getByText("Needs you").first().waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("fix.204");
      // At once: the answer may come after the key.
      await page.keyboard.press("Enter");
      await page.getByRole("complementary").getByText("Refund rounding").waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      const keys = page.getByRole("dialog", { name: "Keys" });
      await keys.getByText("Git board").waitFor();
      await page.keyboard.press("Escape");
      await keys.waitFor({ state: "detached" });
      await page.keyboard.press("2");
      await page.waitForURL(/#\/board/);
      await context.close();
    });
  });

  test("an empty run teaches what is still to be done", async () => {
    await withServer({ tasks: 0 }, async (server) => {
      const fleet = server.operations.fleet();
      const commands = async () => {
        const { page, context } = await openPage(browser, server.url);
        await page.getByText("Nothing lives here yet").waitFor();
        const texts = await page.locator(".teach code").allTextContents();
        await context.close();
        return texts.map((text) => text.split(" --payload")[0]);
      };
      server.operations.fleet = () => ({ ...fleet, workers: [], parts: null });
      expect(await commands()).toEqual(["viv init", "viv up", "viv enqueue --type task"]);
      const [ada] = fleet.workers;
      server.operations.fleet = () => ({ ...fleet, workers: [{ ...ada, types: ["audit"] }] });
      expect(await commands()).toEqual(["viv enqueue --type audit"]);
    });
  });

  test("a message does not cover the caption, on any view and size", async () => {
    await withServer({ mayChange: false }, async (server) => {
      const text = "deaf answered nothing, so the warden ended its whole process tree; ".repeat(2);
      for (const [view, size] of [
        ["board?task=fix.204", undefined],
        ["task/fix.204", undefined],
        ["task/fix.204", PHONE],
      ] as const) {
        const { page, context } = await openPage(browser, `${server.url}/#/${view}`, { size });
        const caption = page.getByRole("region", { name: "Moments of the demo" });
        await until("the caption is there", () => {
          server.tell("ledger", {
            ...{ room: "demo", event: "moment", agent: "demo", at: new Date().toISOString() },
            ...{ n: 1, key: "executed", text, link: "warden/w-1", command: "viv epitaph w-1" },
          });
          return caption.getByText("deaf answered").isVisible();
        });
        await page.getByRole("button", { name: /^Approve( A)?$/ }).click();
        await page.locator(".toast", { hasText: "log in" }).waitFor();
        await until(
          "the message is above the caption",
          () =>
            page.evaluate(() => {
              const of = (one: string) => document.querySelector(one)?.getBoundingClientRect();
              const over = [".moment", ".acts"].map((one) => of(one)?.top ?? 0);
              return (of(".toasts")?.bottom ?? 1e9) <= Math.min(...over);
            }),
          10,
        );
        await context.close();
      }
    });
  });

  test("the demo's moments are a caption with a link, until it is closed", async () => {
    await withServer({}, async (server) => {
      const { page, context, faults } = await openPage(browser, `${server.url}/board`);
      await page.waitForURL(`${server.url}/#/board`);
      await page.locator(".card").first().waitFor();
      const tell = (n: number, key: string, text: string, link: string | null) =>
        server.tell("ledger", {
          ...{ room: "demo", event: "moment", agent: "demo", at: new Date().toISOString() },
          ...{ n, key, text, link, command: null },
        });
      tell(1, "review", "fix.204 is proven <b>and waits for you</b>", "task/fix.204");
      const caption = page.getByRole("region", { name: "Moments of the demo" });
      await caption.getByText("<b>and waits for you</b>").waitFor();
      await page.locator(".card.is-pointed", { hasText: "fix.204" }).waitFor();
      await expectAccessible(page, "the caption");
      await caption.hover();
      tell(2, "asked", "two agents are asked", "warden");
      await caption.getByText("1 of 2").waitFor();
      await caption.getByRole("button", { name: "Next moment" }).click();
      await caption.getByText("two agents are asked").waitFor();
      await page.locator(".nav .is-pointed", { hasText: "Warden" }).waitFor();
      await caption.getByRole("link", { name: "Show" }).click();
      await page.waitForURL(/#\/warden/);
      await caption.getByRole("button", { name: "Close the captions" }).click();
      await caption.getByRole("link").waitFor({ state: "detached" });
      expect(faults).toEqual([]);
      await context.close();
    });
  });
});
