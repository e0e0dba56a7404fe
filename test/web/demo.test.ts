import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { MOMENTS, WITH_TMUX } from "../../src/app/demo-fleet/moments.ts";
import { processesOf } from "../../src/app/demo-fleet/place.ts";
import { Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { hasBrowser, openPage, startBrowser } from "./browser.ts";

/** `viv demo`, which `npm start` runs: the whole fleet, with real processes and its page in a browser. */

function start() {
  const tmp = newFolder();
  const demo = new Running(["demo", "--no-open", "--pace", "0.1"], { env: { TMPDIR: tmp } });
  const known: string[] = [];
  onTestFinished(() => {
    // Where the test failed, a tmux server would stay.
    for (const pid of known.flatMap(processesOf)) process.kill(pid, "SIGKILL");
  });
  const folder = () => {
    const name = readdirSync(tmp).find((one) => one.startsWith("viv-fleet-demo-")) ?? "";
    known.push(join(tmp, name));
    return join(tmp, name);
  };
  return { tmp, demo, folder };
}

/** Throws when it has ended without that. */
function said(demo: Running, text: string): boolean {
  if (demo.stdout.includes(text)) return true;
  if (demo.child.exitCode !== null) throw new Error(`the demo ended: ${demo.stdout}${demo.stderr}`);
  return false;
}

it("shows a chain that lands, a kill that is recovered, an execution with its receipt; and leaves nothing", async () => {
  const { tmp, demo, folder } = start();
  const expected = MOMENTS.filter((key) => hasTmux || !WITH_TMUX.includes(key));
  await until("it serves", () => said(demo, "/login?code="), 60);
  const look = hasBrowser ? await watchPage(demo) : null;
  await until("the tour is over", () => said(demo, "seen "), 100);
  const world = folder();
  const run = join(world, "demo/run");
  const env = { VIV_STATE: join(world, "state") };
  const ask = (...args: string[]) =>
    JSON.parse(viv([...args, "--run", run, "--json"], { env, cwd: join(world, "demo") }).stdout);

  const ledger = readdirSync(join(run, "ledger")).filter((name) => name.endsWith(".jsonl"));
  const moments = ledger
    .flatMap((name) => readFileSync(join(run, "ledger", name), "utf8").split("\n"))
    .filter((line) => line.includes('"moment"'))
    .map((line) => JSON.parse(line));
  const keys: string[] = moments.map(({ key }) => key);
  expect([...keys].sort()).toEqual([...expected].sort());
  expect(moments[0]).toMatchObject({
    room: "demo",
    event: "moment",
    agent: "demo",
    n: 1,
    link: "fleet",
  });
  const comesBefore = (...order: string[]) => {
    const places = order.filter((key) => keys.includes(key)).map((key) => keys.indexOf(key));
    expect(places).toEqual([...places].sort((a, b) => a - b));
  };
  comesBefore("up", "claimed", "proven", "landed", "seen");
  comesBefore("unproven", "mended");
  comesBefore("conflict", "resolved");
  comesBefore("killed", "taken_back", "recovered");
  comesBefore("asked", "pardoned");
  comesBefore("asked", "executed");

  const outcomes = ask("show", "shop.audit").history.map((one: { outcome: string }) => one.outcome);
  expect(outcomes.filter((one: string) => one !== "released")).toEqual(["abandoned", "done"]);
  expect(ask("show", "shop.name")).toMatchObject({ state: "review" });
  const log = (id: string) => viv(["logs", id, "--run", run], { env }).stdout;
  expect(log("shop.plan")).toContain("check.sh prices.mjs");
  expect(log("shop.audit")).toContain("What a cart costs");
  expect(ask("costs").total.usd).toBeGreaterThan(0.2);
  expect(ask("doctor")).toMatchObject({ healthy: true });
  // The commands of the moments, as a person pastes them into another terminal.
  const source = /after: {2}(\. \S+)/.exec(demo.stdout)?.[1];
  for (const { command } of moments.filter((one) => !/ (approve|merge) /.test(one.command)))
    execFileSync("sh", ["-ec", `${source}; ${command}`], { env: { PATH: process.env.PATH } });
  const shop = execFileSync("git", ["-C", join(world, "shop"), "ls-tree", "--name-only", "main"], {
    encoding: "utf8",
  });
  for (const file of ["discount.mjs", "receipt.mjs", "round.mjs"]) expect(shop).toContain(file);
  const address = /then it is (http:\S+)/.exec(demo.stdout)?.[1] ?? "";
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  if (hasTmux) {
    const completed = join(world, "state/warden/completed");
    const receipts = readdirSync(completed).map((name) =>
      JSON.parse(readFileSync(join(completed, name), "utf8")),
    );
    const verdicts = receipts.map(({ verdict, warrant }) => [warrant.target, verdict]);
    const executed = receipts.find(({ verdict }) => verdict === "executed");
    const { link } = moments.find(({ key }) => key === "executed");
    expect(link).toBe(`warden/${executed.warrant.id}`);
    expect(verdicts.sort()).toEqual([
      ["deaf", "executed"],
      ["keen", "pardoned"],
    ]);
  } else console.log("tmux is not installed: the warden's part of the demo is not tested");

  await look?.approve("shop.name");
  expect(ask("show", "shop.name").state).toBe(look === null ? "review" : "done");

  demo.child.kill("SIGINT");
  const { status, stderr } = await demo.end();
  expect({ status, stderr }).toEqual({ status: 130, stderr: "" });
  expect(processesOf(world)).toEqual([]);
  expect(readdirSync(tmp)).toEqual([]);
}, 120_000);

/** The page of a person who has followed the link: it points at what happens, and its buttons work. */
async function watchPage(demo: Running) {
  const link = /http:\S+\/login\?code=\S+/.exec(demo.stdout)?.[0] ?? "";
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  const { page, faults } = await openPage(browser, link);
  const caption = page.getByRole("region", { name: "Moments of the demo" });
  await caption.getByText(/the fleet is up/).waitFor();
  return {
    approve: async (id: string) => {
      // Done, proven and landed, without a reload.
      await page
        .getByText(/^[1-9]\d* landed$/)
        .first()
        .waitFor();
      await page.goto(`${new URL(page.url()).origin}/#/task/${id}`);
      await page.getByRole("button", { name: /^Approve(?! and)/ }).click();
      await page.getByText("Done", { exact: true }).first().waitFor();
      expect(faults).toEqual([]);
    },
  };
}

const hasTmux = (() => {
  try {
    execFileSync("tmux", ["-V"]);
    return true;
  } catch {
    return false;
  }
})();

it("leaves nothing when it is killed", async () => {
  const { tmp, demo, folder } = start();
  await until("a task is claimed", () => said(demo, "claimed "), 60);
  const world = folder();
  expect(processesOf(world).length).toBeGreaterThan(5);
  const gone = once(demo.child, "exit");
  demo.child.kill("SIGKILL");
  await gone;
  await until(
    "its guard has cleaned up",
    () => processesOf(world).length === 0 && !existsSync(world),
    30,
  );
  expect(readdirSync(tmp)).toEqual([]);
}, 90_000);

it("refuses what it does not know", () => {
  expect(viv(["demo", "--quick"])).toMatchObject({ status: 2, stdout: "" });
  expect(viv(["demo", "--pace", "0"])).toMatchObject({ status: 2, stdout: "" });
  expect(viv(["demo", "--nopage"]).stderr).toContain("--nopage");
  expect(viv(["demo", "--clean", newFolder()]).status).toBe(1);
});
