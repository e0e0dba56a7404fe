import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountsHere, type Store } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { actOn, filesIn } from "./acting.ts";
import { hasBrowser, startBrowser } from "./browser.ts";
import { fillWithAllStates, type Place, type ServedRun, serveNewRun } from "./served-run.ts";

/** Each action on workers, crew, gate, schedules, accounts and the warden: what changes is on the disk. */

let browser: Browser;
let served: ServedRun;
let hands: Awaited<ReturnType<typeof actOn>>;

const CONFIG = `
[handlers.fix]
engine = "claude"
prompt = "moss.md"
account = "work"

[crew]
grace = "1h"
[crew.moss]
def = "moss.md"
command = "exec ./moss.sh"
interval = "1h"
[crew.hale]
def = "moss.md"
command = "false"
`;

/** A login that a vendor no longer takes. */
const REFUSED = {
  ...{ reason: "unauthorized" as const, message: "invalid key", todo: "", until: "" },
  ...{ by: { run: "/r", worker: "w", task: "t" }, began: Date.now() },
};

beforeAll(async () => {
  if (!hasBrowser) return;
  const fill = async (store: Store, { folder, viv, start }: Place) => {
    writeFileSync(join(folder, "moss.md"), "You are moss.\n");
    writeFileSync(join(folder, "moss.sh"), "#!/bin/sh\necho here >>ticks\n", { mode: 0o755 });
    start("crew", "up", "--json");
    await fillWithAllStates(store);
    const accounts = await accountsHere({ VIV_STATE: join(folder, "state") }, folder);
    await accounts.close("work", REFUSED);
    viv("gate", "--max", "2");
    await until("the crew is up", () => existsSync(join(folder, ".crew/status-hale.json")));
    // The fifth bad end parks a member.
    for (let n = 1; n <= 5; n++) await once(start("crew", "tick", "hale", "--json"), "exit");
  };
  [browser, served] = await Promise.all([startBrowser(), serveNewRun(fill, CONFIG)]);
  hands = await actOn(browser, served);
});
afterAll(async () => {
  await browser?.close();
  await served?.end();
});

const state = (...path: string[]) => join(served.folder, "state", ...path);
const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));

describe.skipIf(!hasBrowser)("an action on the fleet", () => {
  test("pauses and resumes the run; the overview resumes it too", async () => {
    const paused = () => existsSync(join(served.run, "paused.json"));
    await hands.toView("Fleet");
    await hands.press("Pause claims");
    await until("it is paused", paused);
    await hands.press("Resume claims");
    await until("it goes on", () => !paused());
    await hands.press("Pause claims");
    await until("it is paused again", paused);
    await hands.toView("Overview");
    await hands.press(/^Resume: by /);
    await until("it goes on again", () => !paused());
  });

  test("pauses one worker, which claims nothing until it is resumed", async () => {
    const claimed = async (worker: string) => (await served.store.claim({ worker })).length;
    const paused = () => existsSync(join(served.run, "claimed/cyd/.paused"));
    await hands.toView("Fleet");
    await hands.press("Pause cyd");
    await hands.said("viv pause --worker cyd");
    expect(paused()).toBe(true);
    await served.store.enqueue({ id: "for.any", type: "fix" });
    await served.store.enqueue({ id: "for.cyd", type: "fix" });
    expect([await claimed("cyd"), await claimed("eve")]).toEqual([0, 1]);
    await hands.press("Resume cyd");
    await hands.said("viv resume --worker cyd");
    expect([paused(), await claimed("cyd")]).toEqual([false, 1]);
  });

  test("sets the slots of the gate", async () => {
    const max = () => readFileSync(state("gate/max"), "utf8").trim();
    await hands.toView("Fleet");
    await hands.press("One slot more");
    await hands.said("viv gate --max 3");
    expect(max()).toBe("3");
    // At once, before the page has read what became of the last press.
    await hands.press("One slot more");
    await hands.press("One slot more");
    await hands.said("viv gate --max 5");
    await until("both count", () => max() === "5");
    for (let n = 0; n < 3; n++) await hands.press("One slot fewer");
    await hands.said("viv gate --max 2");
    await until("it is as before", () => max() === "2");
  });

  test("runs, pauses and resumes a schedule", async () => {
    await hands.toView("Fleet");
    await hands.press("Run nightly now");
    const pending = () => readdirSync(join(served.run, "pending"));
    await until("its task is there", () =>
      pending().some((name) => name.startsWith("nightly.run.")),
    );
    const file = join(served.run, "schedules.json");
    const paused = () => existsSync(file) && readFileSync(file, "utf8").includes('"paused"');
    await hands.press("Pause nightly");
    await until("it is paused", paused);
    await hands.press("Resume nightly");
    await until("it goes on", () => !paused());
  });

  test("a double click, or the same request twice at once, acts one time", async () => {
    const asked: string[] = [];
    hands.page.on("request", (request) => {
      if (request.method() === "POST") asked.push(new URL(request.url()).pathname);
    });
    const button = (name: string) => hands.page.getByRole("button", { name });
    await hands.toView("Fleet");
    await button("Pause claims").dblclick();
    await button("Resume claims").dblclick();
    await button("Pause claims").waitFor();
    const runs = hands.page.locator(".toast", { hasText: "viv schedule run nightly" });
    const before = await runs.count();
    await button("Run nightly now").evaluate((one: HTMLElement) => [one.click(), one.click()]);
    await runs.nth(before).waitFor();
    expect(asked).toEqual(["/api/pause", "/api/resume", "/api/schedule/run"]);
    hands.page.removeAllListeners("request");
  });

  test("opens an account", async () => {
    expect(read(state("accounts/work.json"))).toMatchObject({ state: "parked" });
    await hands.toView("Overview");
    await hands.press(/^Open account: work/);
    await hands.said("viv accounts open work");
    expect(read(state("accounts/work.json"))).toMatchObject({ state: "open" });
  });
});

describe.skipIf(!hasBrowser)("an action on a member of the crew", () => {
  const paused = () => existsSync(join(served.folder, ".crew/paused/moss"));

  test("ticks now", async () => {
    await hands.toView("Fleet");
    await hands.press("Tick now: moss");
    await hands.said("viv crew tick moss");
    expect(readFileSync(join(served.folder, "ticks"), "utf8")).toBe("here\n");
  });

  test("pauses and resumes", async () => {
    await hands.press("Pause: moss");
    await until("it is paused", paused);
    await hands.press("Resume: moss");
    await until("it goes on", () => !paused());
  });

  test("resumes one that was parked, from the overview", async () => {
    const status = () => read(join(served.folder, ".crew/status-hale.json"));
    expect(status()).toMatchObject({ state: "parked" });
    await hands.toView("Overview");
    await hands.press("Resume: hale");
    await until("it goes on", () => status().state !== "parked");
  });
});

describe.skipIf(!hasBrowser)("an action on the warden", () => {
  const warrants = () => filesIn(state()).filter((name) => /warrants\/[^/]+\.json$/.test(name));

  test("files a warrant, and withdraws it", async () => {
    await hands.toView("Warden");
    await hands.press(/File a warrant/);
    const form = hands.page.getByRole("dialog");
    await form.getByLabel("Suspect").selectOption("worker");
    await hands.fill("Name", "cyd");
    await hands.fill("Reason, for the receipt", "no_progress");
    await hands.confirm("File it");
    await until("it is filed", () => warrants().length === 1);
    expect(read(state(warrants()[0] ?? ""))).toMatchObject({ reason: "no_progress" });
    await hands.press(/^Withdraw the warrant for cyd/);
    await until("it is withdrawn", () => warrants().length === 0);
  });

  test("says at once that a warrant names a worker that is not there", async () => {
    await hands.toView("Warden");
    await hands.press(/File a warrant/);
    await hands.page.getByLabel("Suspect").selectOption("worker");
    await hands.fill("Name", "cid");
    await hands.confirm("File it");
    await hands.page.locator(".toast.is-bad", { hasText: "there is no worker cid" }).waitFor();
    await hands.press(/^Withdraw the warrant for cid/);
    await until("it is withdrawn", () => warrants().length === 0);
  });

  test("files one against a worker of the fleet", async () => {
    await hands.toView("Fleet");
    await hands.press("Ask cyd whether it is alive");
    await hands.fill("Reason, for the receipt", "is quiet");
    await hands.confirm("File a warrant");
    await until("it is filed", () => warrants().length === 1);
    expect(read(state(warrants()[0] ?? ""))).toMatchObject({ reason: "is quiet" });
  });

  test("releases a dog, and withdraws the warrant of a dance", async () => {
    const { warrants: waiting } = JSON.parse(served.viv("dog", "warrants", "--json"));
    const [{ id }] = waiting;
    const { dog } = JSON.parse(served.viv("dog", "pool", "allocate", id, "--json"));
    await hands.toView("Warden");
    await hands.press("Release");
    await hands.said(`viv dog pool release ${dog}`);
    expect(existsSync(state(`warden/active/${dog}.release`))).toBe(true);
    await hands.press("Withdraw");
    await hands.said(`viv warrant withdraw ${id}`);
    expect(existsSync(state(`warden/withdrawals/${id}`))).toBe(true);
  });

  test("pauses the pool; resumes it, also from the overview", async () => {
    const paused = () => existsSync(state("warden/paused"));
    await hands.toView("Warden");
    await hands.press("Pause pool");
    await hands.confirm("Pause");
    await until("it is paused", paused);
    await hands.press("Resume pool");
    await until("it goes on", () => !paused());
    await hands.press("Pause pool");
    await hands.confirm("Pause");
    await until("it is paused again", paused);
    await hands.toView("Overview");
    await hands.press(/^Resume the pool/);
    await until("it goes on again", () => !paused());
  });

  test("did all that without an error in the page", () => {
    expect(hands.faults).toEqual([]);
  });
});
