// The board with 100,000 tasks in a real browser: until its cards are painted, frames while it
// scrolls, and the time from a rename to the page.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { median, percentile } from "../lib/samples.mjs";
import { largeFolder, startBrowser, startServer } from "../lib/served.mjs";

const SIZE = { width: 1440, height: 900 };
const FRAME_MS = 1000 / 60;

export default async function board(bench) {
  const browser = await startBrowser();
  if (browser === null) {
    bench.row({ measure: "the board in a browser", skipped: "chromium is not installed" });
    return;
  }
  try {
    const large = await largeFolder(bench);
    const tasks = `${large.size.toLocaleString("en-US")} tasks`;
    await firstPaint(bench, browser, large, tasks);
    const server = await startServer(bench, large);
    try {
      await server.isRead();
      const page = await openBoard(browser, server.address);
      await scroll(bench, page, tasks);
      await events(bench, page, large, tasks);
    } finally {
      await server.stop();
    }
  } finally {
    await browser.close();
  }
}

/** Cold: a server that has just begun to answer. Warm: the next page of the same server. */
async function firstPaint(bench, browser, large, tasks) {
  const cold = [];
  const warm = [];
  for (let round = 0; round < (bench.quick ? 2 : 5); round++) {
    const server = await startServer(bench, large);
    try {
      cold.push(await paintedIn(browser, server.address));
      await server.isRead();
      warm.push(await paintedIn(browser, server.address));
    } finally {
      await server.stop();
    }
    bench.progress(`first paint ${round + 1}: ${cold.at(-1)} ms cold, ${warm.at(-1)} ms warm`);
  }
  const row = { unit: "ms", judged: "ours", target: { under: 1_000 } };
  const measure = `board of ${tasks}, until its cards are painted`;
  bench.row({ measure: `${measure}: cold`, ...row, ours: median(cold), samples: { ours: cold } });
  bench.row({ measure: `${measure}: warm`, ...row, ours: median(warm), samples: { ours: warm } });
}

/** From the navigation until the frame after the first card of the longest column. */
async function paintedIn(browser, address) {
  const context = await browser.newContext({ viewport: SIZE });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const look = new MutationObserver(() => {
      if (!document.querySelector('[data-column="done"] a.card')) return;
      look.disconnect();
      requestAnimationFrame(() =>
        setTimeout(() => {
          globalThis.paintedAt = performance.now();
        }),
      );
    });
    look.observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${address}/#/board`);
  await page.waitForFunction(() => globalThis.paintedAt !== undefined);
  const ms = await page.evaluate(() => globalThis.paintedAt);
  await context.close();
  return Math.round(ms);
}

async function openBoard(browser, address) {
  const context = await browser.newContext({ viewport: SIZE });
  const page = await context.newPage();
  await page.goto(`${address}/#/board`);
  await page.locator('[data-column="done"] a.card').first().waitFor();
  return page;
}

/** A wheel that turns for some seconds over the longest column, and the frames of the trace. */
async function scroll(bench, page, tasks) {
  const box = await page.locator('[data-column="done"] .scroll').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const cdp = await page.context().newCDPSession(page);
  const frames = [];
  cdp.on("Tracing.dataCollected", ({ value }) => frames.push(...value));
  const categories = "benchmark,devtools.timeline.frame,disabled-by-default-devtools.timeline";
  await cdp.send("Tracing.start", { categories, transferMode: "ReportEvents" });
  const seconds = bench.quick ? 2 : 5;
  const gesture = { x: box.x + 40, y: box.y + 200, yDistance: -3_000 * seconds, speed: 3_000 };
  const times = page.evaluate(recordFrames, seconds * 1000);
  await cdp.send("Input.synthesizeScrollGesture", { ...gesture, gestureSourceType: "mouse" });
  const deltas = await times;
  const done = once(cdp, "Tracing.tracingComplete");
  await cdp.send("Tracing.end");
  await done;
  const states = frames
    .filter(({ name }) => name === "PipelineReporter")
    .map(({ args }) => args?.chrome_frame_reporter ?? args?.frame_reporter)
    .filter(Boolean);
  const dropped = states.filter(({ state }) => state === "STATE_DROPPED").length;
  const late = deltas.filter((ms) => ms > 1.5 * FRAME_MS).length;
  const share = (n, of) => (of === 0 ? 0 : (100 * n) / of);
  const measure = `${seconds} s of scrolling through ${tasks}`;
  bench.row({
    measure: `${measure}: frames that were dropped, of ${states.length} in the trace`,
    ...{ ours: share(dropped, states.length), unit: "%", judged: "ours", target: { under: 2 } },
  });
  bench.row({
    measure: `${measure}: frames later than their turn, of ${deltas.length}`,
    ...{ ours: share(late, deltas.length), unit: "%", judged: "ours", target: { under: 2 } },
    samples: {
      worst: deltas
        .sort((a, b) => b - a)
        .slice(0, 10)
        .map(Math.round),
    },
  });
}

function recordFrames(ms) {
  return new Promise((resolve) => {
    const deltas = [];
    const begin = performance.now();
    let last = begin;
    const frame = (now) => {
      deltas.push(now - last);
      last = now;
      if (now - begin < ms) requestAnimationFrame(frame);
      else resolve(deltas.slice(1));
    };
    requestAnimationFrame(frame);
  });
}

/** Another process claims tasks; the page notes when each is first seen in the column of its work. */
async function events(bench, page, { run }, tasks) {
  await page.mouse.move(5, 5);
  await page.locator('[data-column="done"] .scroll').evaluate((element) => {
    element.scrollTop = 0;
  });
  await page.evaluate(() => {
    globalThis.seen = {};
    const working = document.querySelector('[data-column="working"]');
    new MutationObserver(() => {
      for (const { textContent } of document.querySelectorAll('[data-column="ready"] .card')) {
        const id = /t\.\d{7}/.exec(textContent)?.[0];
        if (id && textContent.includes("went to")) globalThis.seen[id] ??= Date.now();
      }
      const count = working.querySelector("header .n").textContent;
      globalThis.seen[`count ${count}`] ??= Date.now();
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const program = fileURLToPath(new URL("../child/claim-slowly.mjs", import.meta.url));
  const count = bench.quick ? 20 : 50;
  const child = spawn(process.execPath, [program, bench.library, run, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const took = [];
  for (;;) {
    const { value, done } = await lines.next();
    if (done) break;
    const { at, working } = JSON.parse(value);
    const key = `count ${working.toLocaleString("en-US")}`;
    await page.waitForFunction((one) => globalThis.seen[one] !== undefined, key);
    took.push((await page.evaluate((one) => globalThis.seen[one], key)) - at);
    child.stdin.write("next\n");
  }
  const row = { unit: "ms", judged: "ours", target: { under: 150 }, samples: { ours: took } };
  const measure = `from a claim's rename to the page, ${tasks}`;
  bench.row({ measure: `${measure}: p50`, ...row, ours: percentile(took, 50) });
  bench.row({ measure: `${measure}: p95`, ...row, ours: percentile(took, 95) });
}
