// `npm run shots`: the pictures of the README, in docs/shots/, of a made-up night (web/dev/).

import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail, root } from "./run.mjs";
import { ensureBuilt, ensureInstalled, tryDebianPackages } from "./setup.mjs";
import { smallPng } from "./small-png.mjs";

const SIZE = { width: 1440, height: 900 };
const MOST_BYTES = 150_000;
/** Each with what is there once it is drawn. */
const SHOTS = {
  overview: { path: "#/overview", ready: ".needs li" },
  board: { path: "#/board", ready: "a.card" },
  task: { path: "#/task/fix.204", ready: ".task .side-part" },
};

ensureInstalled();
ensureBuilt();
tryDebianPackages([{ command: "chromium", package: "chromium" }]);
// The pictures of this repository are set in Liberation Sans (Debian: fonts-liberation).
const program = [process.env.VIV_CHROMIUM, "/usr/bin/chromium"].find(
  (one) => one && existsSync(one),
);
if (program === undefined) fail("chromium is not installed: sudo apt-get install chromium");

const { chromium } = await import("playwright-core");
const { startDevServer } = await import("../web/dev/server.mjs");
const folder = join(root, "docs/shots");
mkdirSync(folder, { recursive: true });
const server = await startDevServer({});
const browser = await chromium.launch({
  executablePath: program,
  args: ["--no-sandbox", "--disable-gpu", "--disable-lcd-text", "--no-first-run"],
});
const large = [];
try {
  for (const [name, { path, ready }] of Object.entries(SHOTS)) {
    const context = await browser.newContext({
      ...{ viewport: SIZE, colorScheme: "dark", reducedMotion: "reduce" },
    });
    const page = await context.newPage();
    await page.goto(`${server.url}/${path}`);
    await page.locator(ready).first().waitFor();
    await page.evaluate(() => document.fonts.ready);
    const file = join(folder, `${name}.png`);
    const whole = await page.screenshot({ animations: "disabled", caret: "hide" });
    writeFileSync(file, smallPng(SIZE.width, SIZE.height, await pixelsOf(context, whole)));
    const { size } = statSync(file);
    console.log(`docs/shots/${name}.png  ${Math.round(size / 1000)} kB`);
    if (size > MOST_BYTES) large.push(name);
    await context.close();
  }
} finally {
  await browser.close();
  await server.close();
}
if (large.length > 0) fail(`larger than ${MOST_BYTES / 1000} kB: ${large.join(", ")}`);

/** The browser reads PNGs best. */
async function pixelsOf(context, png) {
  const page = await context.newPage();
  const text = await page.evaluate(async (data) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const pixels = canvas.getImageData(0, 0, image.width, image.height).data;
    let latin = "";
    for (let at = 0; at < pixels.length; at += 0x8000) {
      latin += String.fromCharCode(...pixels.subarray(at, at + 0x8000));
    }
    return btoa(latin);
  }, png.toString("base64"));
  await page.close();
  return Buffer.from(text, "base64");
}
