import { once } from "node:events";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, hasBrowser, openPage, startBrowser } from "./browser.ts";
import { fillWithAllStates, type ServedRun, serveNewRun } from "./served-run.ts";

/** The page before a real server of a real run. */

let browser: Browser;
let served: ServedRun;

const SCRIPT = `<img src=x onerror="alert(1)"><script>alert(1)</script>`;
const HOSTILE = "hostile.1";
const TITLE = `${SCRIPT} \u202Edesrever \u001b[31mred " ' & end`;

beforeAll(async () => {
  if (!hasBrowser) return;
  const fill = async (store: ServedRun["store"]) => {
    await store.enqueue({
      ...{ id: HOSTILE, type: "fix", review: true, done_when: SCRIPT },
      payload: { title: TITLE, huge: "y".repeat(5_000_000), [SCRIPT]: SCRIPT },
    });
    const [claim] = await store.claim({ worker: "eve", max: 1 });
    if (claim === undefined) throw new Error("nothing to claim");
    const line = { task: HOSTILE, worker: "eve", token: claim.token };
    await store.append({ event: "step", ...line, tool: SCRIPT, target: TITLE });
    await store.artifacts.write(
      `${HOSTILE}.log`,
      `\u001b]0;title\u0007\u001b[2J\u001b[31m${SCRIPT}\u001b[0m ${"z".repeat(400_000)}`,
    );
    await store.artifacts.write(
      `${HOSTILE}.md`,
      `# ${SCRIPT}\n\n[press](javascript:alert(1)) ![](http://127.0.0.1:9/x.png)\n\n${"> ".repeat(5_000)}`,
    );
    await store.complete(claim, { note: TITLE });
    await fillWithAllStates(store);
  };
  [browser, served] = await Promise.all([startBrowser(), serveNewRun(fill)]);
  // A name that is no id, as a foreign writer may leave it.
  const strange = `it's "quoted" <b>.json`;
  writeFileSync(join(served.run, "pending", strange), '{"task_id":"x"}');
});
afterAll(async () => {
  await browser?.close();
  await served?.end();
});

/** All files of the run that an action could change. */
const contents = () =>
  readdirSync(served.run, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && !/\.viv|heartbeat|lock/.test(entry.parentPath + entry.name),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

describe.skipIf(!hasBrowser)("a served page", () => {
  test("shows a hostile task as text, and asks no other host", async () => {
    const asked: string[] = [];
    const { page, context, faults } = await openPage(browser, "about:blank");
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${served.address}/#/board?task=${HOSTILE}`);
    const drawer = page.getByRole("complementary");
    await drawer.getByText("Artifact").first().waitFor();
    await drawer.getByText("Payload").first().click();
    await drawer.getByText(/MB more/).waitFor();
    await drawer.getByText("zzzz").first().waitFor();
    const heading = await drawer.getByRole("heading", { level: 2 }).first().textContent();
    expect(heading).toContain("<script>alert(1)</script>");
    expect(heading).toContain("‹202E›");
    // The card, the drawer and its attempts: characters that command or reverse are shown as such.
    const pieces = await page
      .locator("body")
      .getByText(/desrever/)
      .allTextContents();
    expect(pieces.filter((one) => /\p{Cc}|\u202e/u.test(one))).toEqual([]);
    expect(pieces.length).toBeGreaterThan(2);
    expect(await page.locator("img, iframe, object, embed").count()).toBe(0);
    expect(await page.locator("script").count()).toBe(1);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    for (const view of ["overview", "wire", "graph", "timeline", "money", "fleet", "warden"]) {
      await page.goto(`${served.address}/#/${view}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.locator("img, iframe, object, embed").count(), view).toBe(0);
    }
    expect(asked.filter((url) => !url.startsWith(served.address))).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  test("restores the view, the filter and the task from its address; keys work", async () => {
    const { page, context, faults } = await openPage(browser, `${served.address}/#/board`);
    await page.locator(".card").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("review");
    await page.waitForURL(/filter=review/);
    await page.getByRole("heading", { level: 1 }).click();
    await page.locator('[data-column="review"] .card').first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForURL(/task=/);
    const { hash } = new URL(page.url());
    await page.reload();
    await page.getByRole("complementary").waitFor();
    expect(new URL(page.url()).hash).toBe(hash);
    expect(await page.getByLabel("Filter tasks").inputValue()).toBe("review");
    await page.keyboard.press("Escape");
    await page.getByRole("complementary").waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  test("shows what happens between its first answers and the first event", async () => {
    const { page, context, faults } = await openPage(browser, "about:blank");
    let begin = () => {};
    const mayBegin = new Promise<void>((resolve) => {
      begin = resolve;
    });
    await page.route("**/events*", async (route) => {
      await mayBegin;
      await route.continue();
    });
    // While the server still reads the run, the page asks again without an event.
    const isRead = async () => {
      const answer = await fetch(`${served.address}/api/cards?windows=`);
      return ((await answer.json()) as { reading: unknown }).reading === null;
    };
    await expect.poll(isRead).toBe(true);
    await page.goto(`${served.address}/#/board?filter=id:between`);
    await page.locator('[data-column="ready"] h2').waitFor();
    const isAnswered = () =>
      document.querySelector('[data-column="ready"] .n')?.textContent === "0";
    await page.waitForFunction(isAnswered);
    await served.store.enqueue({ id: "between.1", type: "fix" });
    begin();
    await page.getByText("between.1").first().waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  test("heals after a kill of the server, and misses no event", async () => {
    const { page, context, faults } = await openPage(browser, `${served.address}/#/wire`);
    await page.getByRole("heading", { level: 1, name: "Wire" }).waitFor();
    await page.waitForFunction(() => document.querySelector(".is-lost") === null);
    await served.store.enqueue({ id: "before.1", type: "fix" });
    await page.getByText("before.1").first().waitFor();
    await served.stopServer("SIGKILL");
    await page.getByText("Connection lost").waitFor();
    for (const n of [1, 2, 3]) await served.store.enqueue({ id: `meanwhile.${n}`, type: "fix" });
    await served.startServer();
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    await served.store.enqueue({ id: "after.1", type: "fix" });
    await page.getByText("after.1").first().waitFor();
    for (const n of [1, 2, 3]) {
      expect(await page.getByText(`meanwhile.${n}`).count(), `meanwhile.${n}`).toBe(1);
    }
    expect(faults).toEqual([]);
    await context.close();
  });

  test("begins anew when the server of another run answers at its address", async () => {
    const { page, context, faults } = await openPage(browser, `${served.address}/#/wire`);
    await page.locator(`[title="${served.run}"]`).waitFor();
    await page.waitForFunction(() => document.querySelector(".is-lost") === null);
    await served.store.enqueue({ id: "of-the-first.1", type: "fix" });
    await page.getByText("of-the-first.1").first().waitFor();
    const other = await serveNewRun();
    try {
      await Promise.all([served.stopServer(), other.stopServer()]);
      const { port } = new URL(served.address);
      other.start("serve", "--port", port, "--json", "--until-stdin-closes");
      await page.locator(`[title="${other.run}"]`).waitFor();
      await other.store.enqueue({ id: "of-the-other.1", type: "fix" });
      await page.getByText("of-the-other.1").first().waitFor();
      expect(await page.getByText("of-the-first.1").count()).toBe(0);
      expect(faults).toEqual([]);
    } finally {
      await context.close();
      await other.end();
      await served.startServer();
    }
  });

  test("lets a page of another origin change nothing, and read nothing", async () => {
    const { page, context } = await openPage(browser, served.loginLink());
    await page.getByRole("heading", { level: 1 }).waitFor();
    const before = contents();
    const foreign = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(
        `<form id=f method=post target=frame action="${served.address}/api/cancel" enctype="text/plain">
        <input name='{"ids":["ready.3"],"note":"' value='"}'></form><iframe name=frame></iframe>`,
      );
    }).listen(0, "127.0.0.1");
    await once(foreign, "listening");
    const { port } = foreign.address() as AddressInfo;
    // Another name of this machine is another site: no cookie goes there; the same name is same-site.
    for (const host of ["127.0.0.1", "localhost"]) {
      await page.goto(`http://${host}:${port}/`);
      const tried = await page.evaluate(async (to) => {
        const outcomes: string[] = [];
        const attempt = async (what: string, act: () => Promise<unknown>) =>
          outcomes.push(`${what}: ${await act().then(String, () => "refused")}`);
        const body = JSON.stringify({ ids: ["ready.3"] });
        const status = async (init: RequestInit, path = "/api/cancel") =>
          (await fetch(to + path, { credentials: "include", ...init })).status;
        await attempt("fetch", () =>
          status({ method: "POST", body, headers: { "content-type": "application/json" } }),
        );
        await attempt("plain fetch", () => status({ method: "POST", body }));
        await attempt("no-cors", async () => {
          const init = { method: "POST", body, mode: "no-cors", credentials: "include" } as const;
          const { type } = await fetch(`${to}/api/cancel`, init);
          return type === "opaque" ? "refused" : type;
        });
        await attempt("read", () => status({}, "/api/cards"));
        await attempt(
          "events",
          () =>
            new Promise((resolve, reject) => {
              const source = new EventSource(`${to}/events`, { withCredentials: true });
              source.onopen = () => resolve("open");
              source.onerror = () => {
                source.close();
                reject(new Error());
              };
            }),
        );
        (document.getElementById("f") as HTMLFormElement).submit();
        await new Promise((resolve) => {
          document.querySelector("iframe")?.addEventListener("load", resolve);
        });
        return outcomes;
      }, served.address);
      expect(tried).toEqual(
        ["fetch", "plain fetch", "no-cors", "read", "events"].map((what) => `${what}: refused`),
      );
    }
    foreign.close();
    expect(contents()).toEqual(before);
    expect(await served.stateOf("ready.3")).toBe("pending");
    await context.close();
  });

  test("shows many tasks with exact counts, down to the last of them", async () => {
    const size = 10_000;
    const { makeLargeRun } = (await import("../../bench/lib/large-run.mjs" as string)) as {
      makeLargeRun(open: unknown, path: string, size: number): Promise<Record<string, number>>;
    };
    const { openRun } = await import("../../src/main.ts");
    const large = await serveNewRun();
    await large.stopServer();
    rmSync(large.run, { recursive: true });
    const counts = await makeLargeRun(openRun, large.run, size);
    await large.startServer();
    const { page, context, faults } = await openPage(browser, `${large.address}/#/board`);
    const done = page.locator('[data-column="done"]');
    await done.locator("a.card").first().waitFor();
    const shown = (n = 0) => n.toLocaleString("en-US");
    expect(await done.locator("header .n").textContent()).toBe(shown(counts.done));
    const failed = page.locator('[data-column="failed"] header .n');
    expect(await failed.textContent()).toBe(shown(counts.failed));
    await done.locator(".scroll").evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    await done.locator("footer", { hasText: `–${shown(counts.done)} of` }).waitFor();
    await done.locator(`a.card[data-index="${(counts.done ?? 0) - 1}"]`).waitFor();
    expect(await page.locator(".card").count()).toBeLessThan(150);
    expect(faults).toEqual([]);
    await context.close();
    await large.end();
  });

  test("begins with what happened lately, and adds each new thing once", async () => {
    const run = await serveNewRun(async (store) => {
      await store.enqueue({ id: "past.1", type: "fix" });
      for (const claim of await store.claim({ worker: "ada" })) await store.complete(claim);
    });
    const { page, context, faults } = await openPage(browser, run.address);
    const latest = page.getByRole("region", { name: "Latest" });
    await latest.getByText("past.1").waitFor();
    await run.store.enqueue({ id: "now.1", type: "fix" });
    for (const claim of await run.store.claim({ worker: "ada" })) await run.store.complete(claim);
    await latest.getByText("now.1").waitFor();
    // Read once more when the view is shown again.
    await page.keyboard.press("2");
    await page.getByRole("heading", { level: 1, name: "Board" }).waitFor();
    const again = page.waitForResponse(/ledger\/show/);
    await page.keyboard.press("1");
    await again;
    await latest.getByText("now.1").waitFor();
    expect(await latest.locator(".id").allTextContents()).toEqual(["now.1", "past.1"]);
    expect(faults).toEqual([]);
    await context.close();
    await run.end();
  });

  test("of an empty run teaches the next command", async () => {
    const empty = await serveNewRun();
    const { page, context, faults } = await openPage(browser, empty.address);
    await page.getByText("Nothing lives here yet").waitFor();
    await page
      .getByText(/viv (enqueue|up|work)/)
      .first()
      .waitFor();
    await expectAccessible(page, "an empty run");
    await empty.store.enqueue({ id: "first.1", type: "fix", payload: { title: "The first" } });
    await page.getByText("Nothing lives here yet").waitFor({ state: "detached" });
    expect(faults).toEqual([]);
    await context.close();
    await empty.end();
  });
});
