import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserServer } from "playwright-core";
import type { TestProject } from "vitest/node";

/**
 * One browser for all test files and the processes they run in: the first that asks starts it, and it
 * ends with the tests. Files without a browser cost nothing.
 */

const PLACES = [
  process.env.VIV_CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
export const program = PLACES.find((path) => path !== undefined && existsSync(path));

declare module "vitest" {
  interface ProvidedContext {
    /** Answers with the place to connect to. */
    browserService: string;
  }
}

async function launch(): Promise<BrowserServer> {
  const { chromium } = await import("playwright-core");
  return chromium.launchServer({
    executablePath: program,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let browser: Promise<BrowserServer> | undefined;
  const service = createServer((_, response) => {
    browser ??= launch();
    browser.then(
      (one) => response.end(one.wsEndpoint()),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
  const { port } = service.address() as AddressInfo;
  project.provide("browserService", `http://127.0.0.1:${port}`);
  return async () => {
    service.closeAllConnections();
    service.close();
    await (await browser?.catch(() => undefined))?.close();
  };
}
