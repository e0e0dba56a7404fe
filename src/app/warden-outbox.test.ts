import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { service } from "../../test/support/services.ts";
import type { HeldNotice, Receipt } from "../warden/dance.ts";
import { requesterOutbox } from "./warden-outbox.ts";

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

const receipt = (dog = "dog-1") => {
  const warrant = { id: "w1", target: "agent-1", requester: "deacon" };
  return { dog, verdict: "pardoned", why: "it answered", warrant } as unknown as Receipt;
};

function outbox(more = {}) {
  const clock = { now: Date.now };
  const box = requesterOutbox({
    ...{ folder: join(folder, "notify"), cwd: folder, env: { PATH: process.env.PATH }, clock },
    ...{ onError: () => {}, hookMs: 5_000, webhookMs: 300, ...more },
  });
  onTestFinished(() => box.stop());
  return box;
}
const inState = (state: string) => readdirSync(join(folder, "notify", state));

describe("the hook", () => {
  const hook = (command: string, more = {}, dog = "dog-1") =>
    outbox({ hook: command, ...more }).send("hook", receipt(dog));

  it("gets the receipt on its stdin, once, also from a warden that was started again", async () => {
    expect(await hook("cat >> told")).toBeNull();
    expect(await hook("cat >> told")).toBeNull();
    expect(JSON.parse(readFileSync(join(folder, "told"), "utf8"))).toEqual(receipt());
    expect(inState("sent")).toHaveLength(1);
  });

  it("gets each notice of a held execution", async () => {
    const held = (since: string) => ({ ...receipt(), verdict: undefined, event: "held", since });
    const box = outbox({ hook: "cat >> told" });
    for (const since of ["1", "2", "2"]) {
      const { verdict: _, ...notice } = held(since);
      expect(await box.send("hook", notice as unknown as HeldNotice)).toBeNull();
    }
    expect(readFileSync(join(folder, "told"), "utf8").trim().split("\n")).toHaveLength(2);
  });

  it("that fails is tried again later; that hangs is not", async () => {
    expect(await hook("echo no such room >&2; exit 3")).toBe(
      "exit 3: no such room; it is tried again",
    );
    expect(inState("new")).toHaveLength(1);
    const late = await hook("sleep 600", { hookMs: 200 }, "dog-2");
    expect(late).toMatch(/tried again|did not end/);
    const where = await hook("true", { cwd: "/nowhere/at/all", folder: join(folder, "n2") });
    expect(where).toContain("ENOENT");
  });

  it("that hangs is killed with all that it started, and is unsure", async () => {
    const command = "sleep 600 & echo $! > pid; wait";
    expect(await hook(command, { hookMs: 300 })).toBe("it did not end within 0.3 s");
    expect(inState("unsure")).toHaveLength(1);
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it("that leaves something behind is not waited for", async () => {
    expect(await hook("sleep 600 & echo $! > pid")).toBeNull();
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("the webhook", () => {
  it("gets the receipt as it is, and the secret of its address as a header alone", async () => {
    const there = await service();
    const webhook = there.url.replace("//", "//me:s3%20cret@");
    expect(await outbox({ webhook }).send("webhook", receipt())).toBeNull();
    expect(JSON.parse(there.got[0]?.body ?? "")).toEqual(receipt());
    const basic = Buffer.from("me:s3 cret").toString("base64");
    expect(there.got[0]?.headers.authorization).toBe(`Basic ${basic}`);
    const gone = outbox({ webhook: "http://me:s3cret@127.0.0.1:1/", folder: join(folder, "n2") });
    const trouble = await gone.send("webhook", receipt());
    expect(trouble).toBe("connect ECONNREFUSED 127.0.0.1:1; it is tried again");
    const [name = ""] = readdirSync(join(folder, "n2/new"));
    expect(readFileSync(join(folder, "n2/new", name), "utf8")).not.toContain("s3cret");
  });

  it("that refuses is not tried again, that is silent neither", async () => {
    const there = await service({ status: 404 }, "hang");
    const box = outbox({ webhook: there.url });
    expect(await box.send("webhook", receipt("d1"))).toBe("status 404");
    expect(await box.send("webhook", receipt("d2"))).toBe("no answer within 0.3 s");
    expect([inState("failed"), inState("unsure")].map((all) => all.length)).toEqual([1, 1]);
  });
});
