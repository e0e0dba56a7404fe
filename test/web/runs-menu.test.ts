import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { within } from "../support/deadline.ts";
import { expectAccessible, hasBrowser, openPage, PHONE, startBrowser } from "./browser.ts";
import { type ServedRun, serveNewRun } from "./served-run.ts";

/** The menu of runs: three of them, two with a server. */

let browser: Browser;
let served: ServedRun;
let other: string;

beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, served] = await Promise.all([startBrowser(), serveNewRun()]);
  for (const name of ["other", "it's quiet"]) {
    const run = join(served.folder, name);
    served.viv("enqueue", "--run", run, "--type", "fix", "--id", `${name.slice(-5)}.1`);
  }
  const args = ["--run", join(served.folder, "other"), "--port", "0", "--json"];
  const server = served.start("serve", ...args, "--until-stdin-closes");
  const lines = createInterface(server.stdout as NodeJS.ReadableStream);
  const [line] = await within("the other server is up", once(lines, "line"));
  other = JSON.parse(String(line)).address;
});
afterAll(async () => {
  await browser?.close();
  await served?.end();
});

describe.skipIf(!hasBrowser)("the name of the run", () => {
  test("opens the runs of this machine: links, and the command to serve the others", async () => {
    const { page, context, faults } = await openPage(browser, served.address);
    await page.getByRole("button", { name: /viv-web-/ }).click();
    const menu = page.getByRole("dialog", { name: "Runs" });
    await menu.getByText("this one").waitFor();
    const quiet = join(served.folder, "it's quiet");
    const command = `viv serve --run '${quiet.replace("'", "'\\''")}'`;
    expect(await menu.getByText(command, { exact: true }).count()).toBe(1);
    const links = await menu.getByRole("link").evaluateAll((all) => all.map(String));
    expect(links).toEqual([`${other}/`]);
    await expectAccessible(page, "the menu of runs");
    await menu.getByRole("link").click();
    await page.waitForURL((url) => url.origin === other);
    await page.getByRole("button", { name: /^other/ }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  test("opens them on a phone too", async () => {
    const { page, context } = await openPage(browser, served.address, { size: PHONE });
    await page.getByRole("button", { name: /viv-web-/ }).click();
    const menu = page.getByRole("dialog", { name: "Runs" });
    await menu.getByText("this one").waitFor();
    const fits = await menu.evaluate((one) => one.scrollWidth <= one.clientWidth);
    expect(fits).toBe(true);
    await expectAccessible(page, "the menu of runs on a phone");
    await context.close();
  });
});
