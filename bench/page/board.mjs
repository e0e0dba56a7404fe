// The board with 100,000 tasks in a real browser: until its cards are painted, frames while it
// scrolls, and the time from a rename to the page.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { median, percentile } from "../lib/samples.mjs";
import { largeFolder, startBrowser, startServer } from "../lib/served.mjs";

const SIZE = { width: 1440, height: 900 };

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
      await events(bench, page, large, { pause: 350, of: tasks });
      await events(bench, page, large, { pause: 40, of: `${tasks}, one after the other` });
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

/**
 * A wheel that turns for some seconds over the longest column. The frames that a browser without a
 * screen draws depend on the machine, so a list of plain boxes in the same browser stands beside.
 */
async function scroll(bench, page, tasks) {
  const seconds = bench.quick ? 2 : 5;
  const bare = await page.context().newPage();
  await bare.setContent(PLAIN_LIST);
  const peer = await scrolled(bare, ".scroll", seconds);
  await bare.close();
  const ours = await scrolled(page, '[data-column="done"] .scroll', seconds);
  const measure = `${seconds} s of scrolling through ${tasks}`;
  bench.row({
    measure: `${measure}: frames that were dropped, of ${ours.traced} in the trace`,
    ...{ ours: ours.dropped, peer: peer.dropped, unit: "%", judged: "ours", target: { under: 2 } },
  });
  bench.row({
    measure: `${measure}: frames, beside a list of plain boxes`,
    ...{ ours: ours.frames, peer: peer.frames, unit: "frames", ratio: ours.frames / peer.frames },
    target: { atLeast: 0.9 },
    samples: { worst: ours.worst, worstPeer: peer.worst },
  });
}

const PLAIN_LIST = `<!doctype html><style>.scroll { height: 880px; width: 300px; overflow: auto }
  .scroll div { height: 68px; margin: 4px }</style>
  <div class="scroll">${"<div>a box</div>".repeat(400)}</div>`;

async function scrolled(page, selector, seconds) {
  const box = await page.locator(selector).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const cdp = await page.context().newCDPSession(page);
  const events = [];
  cdp.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const categories = "benchmark,devtools.timeline.frame,disabled-by-default-devtools.timeline";
  await cdp.send("Tracing.start", { categories, transferMode: "ReportEvents" });
  const gesture = { x: box.x + 40, y: box.y + 200, yDistance: -3_000 * seconds, speed: 3_000 };
  const times = page.evaluate(recordFrames, seconds * 1000);
  await cdp.send("Input.synthesizeScrollGesture", { ...gesture, gestureSourceType: "mouse" });
  const deltas = await times;
  const done = once(cdp, "Tracing.tracingComplete");
  await cdp.send("Tracing.end");
  await done;
  const states = events
    .filter(({ name }) => name === "PipelineReporter")
    .map(({ args }) => args?.chrome_frame_reporter ?? args?.frame_reporter)
    .filter(Boolean);
  const dropped = states.filter(({ state }) => state === "STATE_DROPPED").length;
  return {
    traced: states.length,
    dropped: states.length === 0 ? 0 : (100 * dropped) / states.length,
    frames: deltas.length,
    worst: deltas
      .sort((a, b) => b - a)
      .slice(0, 10)
      .map(Math.round),
  };
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
async function events(bench, page, { run }, { pause, of }) {
  await page.mouse.move(5, 5);
  await page.locator('[data-column="done"] .scroll').evaluate((element) => {
    element.scrollTop = 0;
  });
  await page.evaluate(() => {
    globalThis.seen = {};
    globalThis.watch?.disconnect();
    const working = document.querySelector('[data-column="working"]');
    globalThis.watch = new MutationObserver(() => {
      for (const { textContent } of document.querySelectorAll('[data-column="ready"] .card')) {
        const id = /t\.\d{7}/.exec(textContent)?.[0];
        if (id && textContent.includes("went to")) globalThis.seen[id] ??= Date.now();
      }
      const count = working.querySelector("header .n").textContent;
      globalThis.seen[`count ${count}`] ??= Date.now();
    });
    globalThis.watch.observe(document.body, {
      childList: true,
      subtree: true,
      characterData: true,
    });
  });
  const program = fileURLToPath(new URL("../child/claim-slowly.mjs", import.meta.url));
  const count = bench.quick ? 20 : 50;
  const given = [bench.library, run, String(count), String(pause)];
  const child = spawn(process.execPath, [program, ...given], {
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
  const measure = `from a claim's rename to the page, ${of}`;
  bench.row({ measure: `${measure}: p50`, ...row, ours: percentile(took, 50) });
  bench.row({ measure: `${measure}: p95`, ...row, ours: percentile(took, 95) });
}
