import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { until } from "../support/deadline.ts";
import { openPage } from "./browser.ts";
import type { ServedRun } from "./served-run.ts";

/** A person with the right to change things, before the page of a served run. */
export async function actOn(browser: Browser, served: ServedRun) {
  const { page, faults } = await openPage(browser, served.loginLink());
  await page.getByRole("heading", { level: 1 }).waitFor();
  return { ...handsOn(page, served), page, faults };
}

function handsOn(page: Page, served: ServedRun) {
  const drawer = page.getByRole("complementary");
  const dialog = page.getByRole("dialog");
  return {
    async openTask(id: string) {
      await page.goto(`${served.address}/#/board?task=${id}`);
      await drawer.getByText(id).first().waitFor();
    },
    async toView(name: string) {
      await page.goto(`${served.address}/#/${name.toLowerCase()}`);
      await page.getByRole("heading", { level: 1, name }).waitFor();
    },
    inDrawer: (name: string | RegExp) => drawer.getByRole("button", { name }).first().click(),
    press: (name: string | RegExp) => page.getByRole("button", { name }).first().click(),
    confirm: (name: string) => dialog.getByRole("button", { name, exact: true }).click(),
    fill: (label: string, text: string) => dialog.getByLabel(label).fill(text),
    async choose(words: string) {
      await page.keyboard.press("Control+k");
      await dialog.getByRole("combobox").fill(words);
      await dialog.getByRole("option").first().click();
    },
    /** The message after a change has the command that does the same. */
    said: (command: string) => page.locator(".toast", { hasText: command }).first().waitFor(),
    reaches: (id: string, state: string) =>
      until(`${id} is ${state}`, async () => (await served.stateOf(id)) === state),
  };
}

/** Names of the files below a folder. */
export function filesIn(...path: string[]): string[] {
  return readdirSync(join(...path), { recursive: true }).map(String);
}

/** All lines of the ledger of a run. */
export function ledgerOf(run: string): Record<string, unknown>[] {
  return readdirSync(join(run, "ledger"))
    .flatMap((name) => readFileSync(join(run, "ledger", name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
