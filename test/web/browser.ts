import axeCore from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect, inject } from "vitest";
import { program } from "./one-browser.ts";

/** A real browser for tests of the page. Where there is none, the tests are skipped, and say so. */

if (program === undefined) console.error("chromium is not installed: no test with a browser.");
export const hasBrowser = program !== undefined;

/** The one of all test files; closing it closes what was opened through it. */
export async function startBrowser(): Promise<Browser> {
  const answer = await fetch(inject("browserService"));
  const place = await answer.text();
  if (!answer.ok) throw new Error(place);
  return chromium.connect(place);
}

export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

export interface OpenOptions {
  size?: { width: number; height: number };
  scheme?: "dark" | "light";
  /** `page.clock` can be turned forward. */
  clock?: boolean;
}

/** A page that remembers what went wrong in it. */
export interface OpenPage {
  page: Page;
  context: BrowserContext;
  /** Errors of scripts and of the CSP, and dialogs. */
  faults: string[];
}

export async function openPage(
  browser: Browser,
  address: string,
  { size = DESK, scheme = "dark", clock = false }: OpenOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: size,
    colorScheme: scheme,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(60_000); // a busy machine is slow long before it is stuck
  const page = await context.newPage();
  if (clock) await page.clock.install();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) faults.push(message.text());
  });
  await page.goto(address);
  return { page, context, faults };
}

/** No violation of these rules, or of all that axe-core knows; colours are measured too. */
export async function expectAccessible(
  page: Page,
  place: string,
  rules?: readonly string[],
): Promise<void> {
  // Through the debugger, which the page's CSP does not concern.
  await page.evaluate(axeCore.source);
  const found = await page.evaluate(async (only) => {
    const { axe } = globalThis as never as {
      axe: { run: (of: Document, how: object) => Promise<{ violations: Violation[] }> };
    };
    const { violations } = await axe.run(document, {
      resultTypes: ["violations"],
      ...(only ? { runOnly: only } : {}),
    });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 4)
          .map(({ html, any }) => `${html.slice(0, 120)} ${any[0]?.message ?? ""}`)
          .join(" | ")}`,
    );
  }, rules);
  expect(found, place).toEqual([]);
}

interface Violation {
  id: string;
  nodes: { html: string; any: { message: string }[] }[];
}
